const fs = require('fs'), path = require('path');
const places = require('module').globalPaths.concat(path.join(process.cwd(), 'node_modules'));
const list = (place) => { try { return fs.readdirSync(place); } catch { return []; } };
for (const place of places) {
  console.log('from ' + (fs.existsSync(place) ? fs.realpathSync(place) : place));
  for (const name of list(place)) {
    const scoped = name.startsWith('@') ? list(path.join(place, name)).map((each) => name + '/' + each) : [name];
    for (const each of scoped) {
      if (fs.existsSync(path.join(place, each, 'package.json'))) console.log('package ' + each);
    }
  }
}
