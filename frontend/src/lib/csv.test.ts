import { expect, it } from "vitest";
import { parseCsv } from "./csv";

it("reads quotes, commas and line breaks inside quotes, and both line ends", () => {
  expect(parseCsv('name,note\r\n"a, b","say ""hi""\nthere"\nlast,', 10)).toEqual([
    ["name", "note"],
    ["a, b", 'say "hi"\nthere'],
    ["last", ""],
  ]);
});

it("stops at the asked number of rows", () => {
  expect(parseCsv("a\nb\nc", 2)).toEqual([["a"], ["b"]]);
});
