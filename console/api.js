// Requests to the server that this page came from, and the token that they bring.

const TOKEN = "polybox-token";

/// The server wants another token than the one that was sent.
export class Unauthorized extends Error {}

// Only this tab knows the token, and only until the tab is closed.
export const token = {
  get: () => sessionStorage.getItem(TOKEN) ?? "",
  set: value => sessionStorage.setItem(TOKEN, value),
  forget: () => sessionStorage.removeItem(TOKEN),
};

/// Sends a request and returns the response. A refusal becomes an error with the server's own words.
export async function ask(path, {body, headers = {}, signal} = {}) {
  const fields = new Headers(headers);
  if (token.get()) fields.set("Authorization", `Bearer ${token.get()}`);
  if (body !== undefined) fields.set("Content-Type", "application/json");
  const response = await fetch(path, {
    method: body === undefined ? "GET" : "POST",
    headers: fields,
    body: body === undefined ? undefined : JSON.stringify(body),
    signal,
    cache: "no-store",
    credentials: "omit",
    referrerPolicy: "no-referrer",
  });
  if (response.status === 401) throw new Unauthorized("a valid token is required");
  return response;
}

/// Returns the JSON of an answer.
export async function askJson(path, options) {
  const response = await ask(path, options);
  if (!response.ok) throw new Error(await complaint(response));
  return response.json();
}

/// Returns what the server says about its refusal.
export async function complaint(response) {
  const text = await response.text();
  try {
    const {error, message} = JSON.parse(text);
    return error?.message ?? error ?? message ?? text;
  } catch {
    return text.trim() || `status ${response.status}`;
  }
}

/// Yields [name, data] for each event of a stream of events.
export async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const {value, done} = await reader.read();
    if (done) return;
    const blocks = (text + value).split("\n\n");
    text = blocks.pop();
    for (const block of blocks) {
      const [, name, data] = block.match(/^event: (\w+)\ndata: (.*)$/) ?? [];
      if (name) yield [name, JSON.parse(data)];
    }
  }
}

let calls = 0;

/// Sends a request of MCP (2026-07-28) and returns its result.
async function rpc(method, params, name, signal) {
  const headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Accept": "application/json"};
  if (name) headers["Mcp-Name"] = name;
  const meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "polybox/structuredOutput": "both",
  };
  const body = {jsonrpc: "2.0", id: ++calls, method, params: {_meta: meta, ...params}};
  const answer = await askJson("mcp", {body, headers, signal});
  if (answer.error) throw new Error(answer.error.message);
  return answer.result;
}

/// Returns the names of the tools that the server offers.
export async function toolNames() {
  const {tools} = await rpc("tools/list", {});
  return new Set(tools.map(tool => tool.name));
}

/// Calls a tool and returns its data.
export async function callTool(name, args, signal) {
  const result = await rpc("tools/call", {name, arguments: args}, name, signal);
  if (result.isError) throw new Error((result.content ?? []).map(block => block.text ?? "").join("\n"));
  return result.structuredContent;
}
