"""Drives an MCP server with the official Python client and prints what the client saw, as JSON. Usage:

    build/python/bin/python official.py MODE COMMAND [ARGUMENT...]
    build/python/bin/python official.py MODE URL

A URL that ends in /sse is one of the transport of the first version. MODE is legacy, auto or a version of the protocol. The variable MCP_CALLS holds calls to make, as a JSON list of names and
arguments. Without it the tools of src/tools/testing/sample_tools.h are called if the server has them.
"""
import json
import os
import sys

import anyio
from mcp import MCPError, StdioServerParameters
from mcp.client.client import Client
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client


def plain(model):
    """The JSON of a model. A client with a fixed version asks for no server information."""
    return model and model.model_dump(mode="json", by_alias=True, exclude_none=True)


async def failure_of(call):
    try:
        await call
    except MCPError as error:
        return {"code": error.error.code, "message": error.error.message}
    return None


async def wait_and_cancel(client):
    """The progress that came before the call was cancelled."""
    progress = []

    async def take(done, _total, _message):
        progress.append(done)
        if done == 3:
            scope.cancel()

    with anyio.CancelScope() as scope:
        await client.call_tool("wait", {}, progress_callback=take)
    return {"progress": progress, "cancelled": scope.cancelled_caught}


async def call_tools(client, seen):
    seen["echo"] = plain(await client.call_tool("echo", {"text": "hi", "times": 2}))
    seen["blocks"] = plain(await client.call_tool("blocks", {}))
    seen["fail"] = plain(await client.call_tool("fail", {}))
    seen["bad"] = plain(await client.call_tool("echo", {"text": 5}))
    seen["unknown"] = await failure_of(client.call_tool("nothing", {}))
    seen["throw"] = await failure_of(client.call_tool("throw", {}))
    seen["wait"] = await wait_and_cancel(client)
    many = [None] * 64

    async def ask(i):
        many[i] = plain(await client.call_tool("echo", {"text": str(i)}))["content"][0]["text"]

    async with anyio.create_task_group() as group:
        for i in range(len(many)):
            group.start_soon(ask, i)
    seen["many"] = many


async def main(mode, command):
    seen = {}
    server = command[0]
    if server.startswith("http:") and server.endswith("/sse"):
        server = sse_client(server)
    elif not server.startswith("http:"):
        server = stdio_client(StdioServerParameters(command=command[0], args=command[1:]))
    async with Client(server, mode=mode) as client:
        seen["version"] = client.protocol_version
        seen["server"] = plain(client.server_info)
        seen["tools"] = plain(await client.list_tools())["tools"]
        if "MCP_CALLS" in os.environ:
            calls = json.loads(os.environ["MCP_CALLS"])
            seen["answers"] = [plain(await client.call_tool(name, arguments)) for name, arguments in calls]
        elif any(tool["name"] == "echo" for tool in seen["tools"]):
            await call_tools(client, seen)
    print(json.dumps(seen))


anyio.run(main, sys.argv[1], sys.argv[2:])
