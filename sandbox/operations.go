package main

// operations is the whole menu. Each entry lives in the file of its name.
var operations = map[string]func(*Call) (Answer, error){
	"yaml":       yamlOp,
	"directory":  directoryOp,
	"kustomize":  kustomizeOp,
	"helm":       helmOp,
	"jsonnet":    jsonnetOp,
	"lua":        luaOp,
	"jq":         jqOp,
	"gotemplate": gotemplateOp,
	"rego":       regoOp,
	"semver":     semverOp,
	"glob":       globOp,
}
