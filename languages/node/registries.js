// Prints the registries that npm is configured for, and a configuration file without credentials.
// The notation is that of src/registries/client_answer.h.
const { execFileSync } = require('node:child_process');

const output = execFileSync('npm', ['config', 'list', '--json'], { encoding: 'utf8' });
const registries = Object.entries(JSON.parse(output)).filter(
  ([key, value]) => /^(@[^:]+:)?registry$/.test(key) && typeof value === 'string',
);
for (const [, url] of registries) console.log('registry', url);
console.log('file .npmrc');
for (const [key, url] of registries) console.log('| ' + key + '=' + url);
