"""Checks OpenAPI documents, and what servers answered against the document of each. Run by build/python/bin/python.

Usage: check.py FILE with {"documents": [document...], "answers": [{"document": index, "method", "path", "status",
"headers", "body" in base64}...]}. Prints what is wrong, a line each, and then how many documents, examples and answers
were looked at.
"""
import base64
import json
import re
import sys

import jsonschema
import openapi_spec_validator

METHODS = {"get", "put", "post", "delete", "options", "head", "patch", "trace"}


class Document:
    def __init__(self, content):
        self.content = content
        # A schema that is a part of others cannot count the members of the whole.
        parts = re.findall(r'"allOf": \[\{"\$ref": "#/components/schemas/(\w+)"', json.dumps(content))
        self.components = {"schemas": {name: schema if name in parts else closed(schema)
                                       for name, schema in content["components"]["schemas"].items()}}

    def resolve(self, node):
        while isinstance(node, dict) and "$ref" in node:
            target = self.content
            for part in node["$ref"].removeprefix("#/").split("/"):
                target = target[part.replace("~1", "/").replace("~0", "~")]
            node = target
        return node

    def complaints(self, value, schema):
        """What is wrong with a value. Members that no schema speaks of are wrong too."""
        whole = {"$ref": "#/whole", "components": self.components, "whole": closed(schema)}
        found = jsonschema.Draft202012Validator(whole).iter_errors(value)
        return [f"{'/'.join(map(str, error.path))}: {error.message[:300]}" for error in found]

    def operations(self):
        for path, item in self.content["paths"].items():
            for method in METHODS & item.keys():
                yield method.upper(), path, item[method]

    def operation(self, method, path):
        """The one that a request meets: a path of its own before one with a parameter."""
        path = path.split("?")[0]
        found = None
        for known, pattern, operation in self.operations():
            matches = re.fullmatch(re.sub(r"\{\w+\}", ".*", pattern), path)
            if known == method and matches and (found is None or "{" not in pattern):
                found = operation
        return found


def closed(schema):
    """The schema, with members that it does not speak of refused."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    out = {key: closed(value) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict) and "additionalProperties" not in schema:
        out["unevaluatedProperties"] = False
    return out


def examples(document):
    """(where, value, schema) of every example."""
    def of(where, node):
        for name, example in node.get("examples", {}).items():
            yield f"{where} {name}", example["value"], node["schema"]
        if "example" in node:
            yield where, node["example"], node["schema"]

    for method, path, operation in document.operations():
        where = f"{method} {path}"
        for parameter in operation.get("parameters", []):
            yield from of(f"{where} parameter", document.resolve(parameter))
        for content in operation.get("requestBody", {}).get("content", {}).values():
            yield from of(f"{where} request", content)
        for status, response in operation["responses"].items():
            response = document.resolve(response)
            for content in response.get("content", {}).values():
                yield from of(f"{where} {status}", content)
            for header in response.get("headers", {}).values():
                yield from of(f"{where} {status} header", document.resolve(header))


def check_headers(document, response, headers):
    for name, header in response.get("headers", {}).items():
        header = document.resolve(header)
        if name.lower() not in headers:
            if header.get("required"):
                yield f"the header {name} is missing"
            continue
        value = headers[name.lower()]
        if document.resolve(header["schema"]).get("type") == "integer":
            value = int(value)
        for complaint in document.complaints(value, header["schema"]):
            yield f"the header {name}: {complaint}"


def check_events(document, text):
    schemas = {"progress": "ProgressEvent", "stdout": "OutputEvent", "stderr": "OutputEvent", "truncated": "TruncatedEvent",
               "result": "ExecuteResult", "error": "ExecuteError"}
    events = re.findall(r"event: (\w+)\ndata: (.*)\n\n", text)
    if "".join(f"event: {name}\ndata: {data}\n\n" for name, data in events) != text:
        yield "the events have other lines than documented"
    for name, data in events:
        schema = {"$ref": f"#/components/schemas/{schemas[name]}"}
        for complaint in document.complaints(json.loads(data), schema):
            yield f"event {name}: {complaint}"
    if not events or events[-1][0] not in ("result", "error"):
        yield "the last event is neither a result nor an error"


def check_answer(document, answer):
    operation = document.operation(answer["method"], answer["path"])
    if operation is None:
        if answer["status"] not in (400, 401, 404, 405):
            yield "no such operation is documented"
        return
    response = document.resolve(operation["responses"].get(str(answer["status"])))
    if response is None:
        yield "the status is not documented"
        return
    headers = {name.lower(): value for name, value in answer["headers"].items()}
    yield from check_headers(document, response, headers)
    body = base64.b64decode(answer["body"])
    if "content" not in response or answer["method"] == "HEAD":
        if body:
            yield "it has a body"
        return
    kind = headers.get("content-type", "")
    content = response["content"].get(kind) or response["content"].get(kind.split(";")[0])
    if content is None:
        yield f"the type {kind!r} is not documented"
    elif kind == "application/json":
        for complaint in document.complaints(json.loads(body), content["schema"]):
            yield complaint
    elif kind == "text/event-stream":
        yield from check_events(document, body.decode())


def main():
    with open(sys.argv[1]) as file:
        given = json.load(file)
    documents = [Document(content) for content in given["documents"]]
    problems, shown = [], 0
    for document in documents:
        problems += [f"the document: {error.message[:300]}" for error in
                     openapi_spec_validator.OpenAPIV31SpecValidator(document.content).iter_errors()]
        for where, value, schema in examples(document):
            shown += 1
            problems += [f"the example of {where}: {complaint}" for complaint in document.complaints(value, schema)]
    for answer in given["answers"]:
        for complaint in check_answer(documents[answer["document"]], answer):
            body = base64.b64decode(answer["body"])[:300]
            problems.append(f"{answer['method']} {answer['path']} {answer['status']}: {complaint}\n  {body}")
    print("\n".join(problems[:50]))
    print(f"{len(documents)} documents, {shown} examples, {len(given['answers'])} answers, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
