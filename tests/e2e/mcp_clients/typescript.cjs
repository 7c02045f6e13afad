// Drives an MCP server with one of the official TypeScript clients and prints what the client saw, as JSON. Usage:
//   node typescript.cjs INSTALLED sdk|client MODE COMMAND [ARGUMENT...]
//   node typescript.cjs INSTALLED sdk|client MODE URL
// A URL that ends in /sse is one of the transport of the first version, which only `sdk` knows.
// INSTALLED is the directory with node_modules. MODE is legacy, auto or a version of the protocol; `sdk` knows only
// legacy. The variable MCP_CALLS holds calls to make, as a JSON list of names and arguments. Without it the tools of
// src/tools/testing/sample_tools.h are called if the server has them.
const { createRequire } = require("module");

const [installed, library, mode, command, ...args] = process.argv.slice(2);
const load = createRequire(installed + "/package.json");

function makeTransport() {
  const old = library === "sdk";
  if (command.startsWith("http:") && command.endsWith("/sse")) {
    const { SSEClientTransport } = load("@modelcontextprotocol/sdk/client/sse.js");
    return new SSEClientTransport(new URL(command));
  }
  if (command.startsWith("http:")) {
    const { StreamableHTTPClientTransport } = load(
      old ? "@modelcontextprotocol/sdk/client/streamableHttp.js" : "@modelcontextprotocol/client");
    return new StreamableHTTPClientTransport(new URL(command));
  }
  const { StdioClientTransport } = load(
    old ? "@modelcontextprotocol/sdk/client/stdio.js" : "@modelcontextprotocol/client/stdio");
  return new StdioClientTransport({ command, args });
}

function makeClient() {
  const info = { name: "polybox-test", version: "1" };
  if (library === "sdk") {
    const { Client } = load("@modelcontextprotocol/sdk/client/index.js");
    return new Client(info);
  }
  const { Client } = load("@modelcontextprotocol/client");
  const negotiation = mode === "legacy" || mode === "auto" ? mode : { pin: mode };
  return new Client(info, { versionNegotiation: { mode: negotiation } });
}

// The two libraries order the arguments of callTool differently.
function call(client, params, options) {
  return library === "sdk" ? client.callTool(params, undefined, options) : client.callTool(params, options);
}

async function failureOf(promise) {
  try {
    await promise;
    return null;
  } catch (error) {
    return { code: error.code ?? null, message: String(error.message) };
  }
}

async function waitAndCancel(client) {
  const progress = [];
  const abort = new AbortController();
  const onprogress = (report) => {
    progress.push(report.progress);
    if (report.progress === 3) abort.abort("enough");
  };
  const options = { signal: abort.signal, onprogress };
  const failure = await failureOf(call(client, { name: "wait", arguments: {} }, options));
  return { progress, cancelled: failure !== null };
}

async function callTools(client, seen) {
  seen.echo = await call(client, { name: "echo", arguments: { text: "hi", times: 2 } });
  seen.blocks = await call(client, { name: "blocks", arguments: {} });
  seen.fail = await call(client, { name: "fail", arguments: {} });
  seen.bad = await call(client, { name: "echo", arguments: { text: 5 } });
  seen.unknown = await failureOf(call(client, { name: "nothing", arguments: {} }));
  seen.throw = await failureOf(call(client, { name: "throw", arguments: {} }));
  seen.wait = await waitAndCancel(client);
  const many = Array.from({ length: 64 }, (_, i) =>
    call(client, { name: "echo", arguments: { text: String(i) } }));
  seen.many = (await Promise.all(many)).map((answer) => answer.content[0].text);
}

async function makeCalls(client, calls) {
  const answers = [];
  for (const [name, args] of calls) answers.push(await call(client, { name, arguments: args }));
  return answers;
}

async function main() {
  const client = makeClient();
  const seen = { errors: [] };
  // A client aborts its own requests and streams when it cancels a call or closes; that is no error of the server.
  client.onerror = (error) => error.name === "AbortError" || seen.errors.push(String(error));
  await client.connect(makeTransport());
  seen.server = client.getServerVersion();
  seen.instructions = client.getInstructions();
  seen.tools = (await client.listTools()).tools;
  if (process.env.MCP_CALLS) seen.answers = await makeCalls(client, JSON.parse(process.env.MCP_CALLS));
  else if (seen.tools.some((tool) => tool.name === "echo")) await callTools(client, seen);
  await client.close();
  console.log(JSON.stringify(seen));
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
