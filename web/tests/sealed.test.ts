/* Sealed boxes against vectors that PyNaCl made and opens: the agent opens them with its SealedBox. */
import nacl from "tweetnacl";
import { describe, expect, it } from "vitest";
import { fingerprintOf, fromBase64, seal, sealText, toBase64 } from "@/model/sealed";

const PUBLIC = "j0DFrbaPJWJK5bIU6nZ6bslNgp09e14a0bpvPiE4KF8=";
const BOX =
  "NYBy1jZYgNGu6jKa35EhODhR7SGijjt16WXQ0s0WYlRxVUYM8YlBk27oRtjv+6cA5H+j+7OoSRr1Ja9QtmlRI1314U0ysyKpTtI+";
const TEXT = "a secret of the cluster ✓";

const bytes = (from: number) => Uint8Array.from({ length: 32 }, (_, i) => from + i);

describe("sealed boxes", () => {
  it("are byte for byte what PyNaCl makes of the same keys", () => {
    const box = seal(
      new TextEncoder().encode(TEXT),
      fromBase64(PUBLIC),
      nacl.box.keyPair.fromSecretKey(bytes(32)),
    );
    expect(toBase64(box)).toBe(BOX);
  });

  it("differ each time, so that equal secrets are not seen to be equal", () => {
    expect(sealText(TEXT, PUBLIC)).not.toBe(sealText(TEXT, PUBLIC));
  });

  it("do not contain the text", () => {
    expect(atob(sealText(TEXT, PUBLIC))).not.toContain("secret");
  });

  it("refuse a key of another length instead of sealing to nobody", () => {
    expect(() => sealText(TEXT, "c2hvcnQ=")).toThrow("32 bytes");
  });

  it("are for a key whose fingerprint is that which the agent names", async () => {
    expect(await fingerprintOf(PUBLIC)).toBe("SHA256:7t2IPaCpRRWT3Ao45YP7dw+ifbvtIJwgQE4HXmjE8Mk");
  });

  it("take the URL-safe alphabet without padding too", () => {
    expect(fromBase64(PUBLIC.replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, ""))).toEqual(
      fromBase64(PUBLIC),
    );
  });
});
