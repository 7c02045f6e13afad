const assert = require("node:assert");
const { describe, it, test } = require("node:test");
const { add } = require("../sums.js");

test("adds", () => {
  assert.strictEqual(add(2, 3), 5);
});

describe("in a suite", () => {
  it("größer", () => {
    assert.strictEqual(add(2, 2), 5);
  });
  it("throws", () => {
    throw new TypeError("no number");
  });
});

test("later", { skip: "not yet" }, () => {});
