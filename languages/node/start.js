// Workers load it as well; this is how they differ without another module.
if (!process.chdir.disabled) {
  const { readSync } = require('fs');
  const buffer = Buffer.allocUnsafe(1 << 18);
  const size = readSync(62, buffer, 0, buffer.length, null);
  const words = buffer.toString('utf8', 0, size).split('\0');
  process.argv.splice(2, Infinity, ...words.slice(4, Number(words[0]) + 1));
  // Where it is by now; it had remembered another place.
  process.chdir('.');
  // After its last event an interpreter would only take itself apart, which takes longer than most
  // programs run. That nobody waits for that event shows where it looks for the way to send it. A
  // failure still has something to say, and work that has begun goes on until the end.
  const { emit, listenerCount, _getActiveRequests } = process;
  const { apply } = Reflect;
  const { defineProperty } = Object;
  const value = { configurable: true, enumerable: true, writable: true };
  defineProperty(Object.getPrototypeOf(process), 'emit', {
    configurable: true,
    get() {
      if (process._exiting && !process.exitCode && apply(listenerCount, process, ['exit']) === 0 &&
          _getActiveRequests().length === 0) {
        readSync(62, buffer, 0, 1, null);
      }
      return emit;
    },
    set(other) { defineProperty(this, 'emit', { ...value, value: other }); },
  });
}
process.execArgv.splice(process.execArgv.indexOf('-r'), 2);
process._preload_modules.length = 0;
delete require.cache[__filename];
