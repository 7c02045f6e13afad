// Runs a command as a task with the official TypeScript client, whose requests time out after 60 s, and prints what the client
// saw, as JSON. Usage: node long_task.cjs INSTALLED URL COMMAND. INSTALLED is the directory with node_modules.
const { createRequire } = require("module");

const [installed, url, command] = process.argv.slice(2);
const load = createRequire(installed + "/package.json");

async function main() {
  const { Client } = load("@modelcontextprotocol/sdk/client/index.js");
  const { StreamableHTTPClientTransport } = load("@modelcontextprotocol/sdk/client/streamableHttp.js");
  const { CallToolResultSchema } = load("@modelcontextprotocol/sdk/types.js");
  const client = new Client({ name: "polybox-test", version: "1" }, { capabilities: { tasks: {} } });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  await client.listTools();
  const seen = { created: null, statuses: [], result: null };
  const begin = Date.now();
  const call = { name: "Bash", arguments: { command, timeout: 300 } };
  const stream = client.experimental.tasks.callToolStream(call, CallToolResultSchema, { timeout: 60000, task: { ttl: 600000 } });
  for await (const message of stream) {
    if (message.type === "taskCreated") seen.created = message.task.taskId;
    if (message.type === "taskStatus") seen.statuses.push(message.task.status);
    if (message.type === "result") seen.result = message.result;
    if (message.type === "error") throw message.error;
  }
  seen.seconds = (Date.now() - begin) / 1000;
  await client.close();
  console.log(JSON.stringify(seen));
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
