/*
 * Sealed boxes: only the agent whose public key it is can open one, not the service that carries it, and not
 * even the browser that made it. The format is libsodium's crypto_box_seal: ephemeral public key, then a box
 * whose nonce is blake2b-192 of both public keys. Pure JavaScript, because the page's policy allows no WebAssembly.
 */
import { blake2b } from "blakejs";
import nacl from "tweetnacl";

export function seal(message: Uint8Array, recipient: Uint8Array, ephemeral = nacl.box.keyPair()): Uint8Array {
  if (recipient.length !== nacl.box.publicKeyLength) {
    throw new RangeError("The agent's sealing key is not 32 bytes long.");
  }
  const nonce = sealNonce(ephemeral.publicKey, recipient);
  const box = nacl.box(message, nonce, recipient, ephemeral.secretKey);
  ephemeral.secretKey.fill(0);
  return joined(ephemeral.publicKey, box);
}

/** The text sealed, in base64, as the API takes it. */
export function sealText(text: string, recipientBase64: string): string {
  return toBase64(seal(new TextEncoder().encode(text), fromBase64(recipientBase64)));
}

/**
 * The fingerprint of a key, as the agent's log and `gitops agent check` name it: whoever types a credential
 * can see that the key is the agent's, and not one that the service has put in its place.
 */
export async function fingerprintOf(keyBase64: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new Uint8Array(fromBase64(keyBase64)));
  return `SHA256:${toBase64(new Uint8Array(digest)).replace(/=+$/, "")}`;
}

function sealNonce(ephemeral: Uint8Array, recipient: Uint8Array): Uint8Array {
  return blake2b(joined(ephemeral, recipient), undefined, nacl.box.nonceLength);
}

function joined(a: Uint8Array, b: Uint8Array): Uint8Array {
  const whole = new Uint8Array(a.length + b.length);
  whole.set(a);
  whole.set(b, a.length);
  return whole;
}

export function toBase64(bytes: Uint8Array): string {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}

/** Standard or URL-safe alphabet, padded or not. */
export function fromBase64(text: string): Uint8Array {
  const binary = atob(text.replace(/-/g, "+").replace(/_/g, "/"));
  return Uint8Array.from(binary, (char) => char.charCodeAt(0));
}
