import { describe, expect, it } from "vitest";
import { toYaml } from "@/model/yaml";

describe("YAML for reading", () => {
  it("indents as Kubernetes people write it", () => {
    expect(toYaml({ spec: { ports: [{ name: "http", port: 80 }], args: ["-v", "x"] } })).toBe(
      'spec:\n  ports:\n  - name: http\n    port: 80\n  args:\n  - "-v"\n  - x',
    );
  });

  it.each(["yes", "on", "null", "1.20", "a: b", "", "- x", "true", "#c"])(
    "quotes the text %j, that would be read as something else",
    (text) => {
      expect(toYaml({ a: text })).toBe(`a: ${JSON.stringify(text)}`);
    },
  );

  it("keeps lines of a block", () => {
    expect(toYaml({ data: "a=1\nb=2\n" })).toBe("data: |\n  a=1\n  b=2");
  });

  it("shows emptiness", () => {
    expect(toYaml({ a: {}, b: [], c: null })).toBe("a: {}\nb: []\nc: null");
  });
});
