const vm = require('vm');
const source = require('fs').readFileSync(process.argv[1], 'utf8').replace(/^\ufeff?(#!.*)?/, '');
function parses(parse) {
  try { parse(); return true; } catch (error) { return error?.name !== 'SyntaxError'; }
}
const names = ['exports', 'require', 'module', '__filename', '__dirname'];
const accepted = parses(() => vm.compileFunction(source, names)) ||
  parses(() => new vm.SourceTextModule(source));
process.exit(accepted ? 0 : 3);
