package main

import "encoding/json"

// none is the place of no object.
const none = -1

// Request is what the agent asks.
type Request struct {
	// Call is verify or open.
	Call string `json:"call"`
	// Age and PGP are private keys as their programs write them.
	Age []string `json:"age"`
	PGP []string `json:"pgp"`
	// Files are the encrypted files, as they were committed, of a call of verify.
	Files []File `json:"files"`
	// Objects are manifests as JSON, each with a member "sops".
	Objects []json.RawMessage `json:"objects"`
}

// File is one file of a source.
type File struct {
	Path    string `json:"path"`
	Content []byte `json:"content"`
}

// Answer has the opened objects in the order of the request, or a problem.
type Answer struct {
	Objects []any `json:"objects,omitempty"`
	// Values are the texts that were encrypted.
	Values  []string `json:"values,omitempty"`
	Problem *Problem `json:"problem,omitempty"`
}

// Problem says why nothing is opened. It holds nothing of a decrypted value and nothing of a key.
type Problem struct {
	// Code is one of key, missing, unsupported, mac, malformed, moved, partial, unverified and request.
	Code string `json:"code"`
	// Object is the place of an object in the request, or -1.
	Object  int    `json:"object"`
	File    string `json:"file,omitempty"`
	Message string `json:"message,omitempty"`
	// Recipients are the public keys for which the object is encrypted.
	Recipients []string `json:"recipients,omitempty"`
}
