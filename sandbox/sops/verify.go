package main

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/getsops/sops/v3"
	"github.com/getsops/sops/v3/aes"
	"github.com/getsops/sops/v3/config"
	jsonstore "github.com/getsops/sops/v3/stores/json"
	yamlstore "github.com/getsops/sops/v3/stores/yaml"
)

// leaf is an encrypted value, bound to its place: the library authenticates both together.
type leaf struct{ path, value string }

// document is one object of a file, before it was opened.
type document struct {
	version, kind string
	leaves        map[leaf]bool
}

// source is a file, with its check once it was made.
type source struct {
	file      string
	tree      sops.Tree
	documents []document
	checked   bool
	problem   *Problem
}

// verify checks each object against the file that it comes of. The message authentication code is of the whole file,
// while rendering may have given the object another name, labels or a namespace. So the code is checked of the file,
// and of the object that it is of a kind that stands in the file, with no encrypted value that is not there.
func verify(request Request, keys *Keys) Answer {
	sources := map[string][]*source{}
	var unread []File
	for _, file := range request.Files {
		tree, err := load(file)
		if err != nil {
			unread = append(unread, file) // a template, for example: no object is verified by it
			continue
		}
		mac := tree.Metadata.MessageAuthenticationCode
		sources[mac] = append(sources[mac], &source{file: file.Path, tree: tree, documents: documents(tree)})
	}
	for place, object := range request.Objects {
		if problem := verifyObject(object, sources, keys); problem != nil {
			if problem.Code == "unverified" && len(unread) > 0 {
				problem.File, problem.Message = unread[0].Path, "SOPS cannot read it"
			}
			problem.Object = place
			return Answer{Problem: problem}
		}
	}
	return Answer{}
}

func verifyObject(object json.RawMessage, sources map[string][]*source, keys *Keys) *Problem {
	tree, problem := loadObject(object)
	if problem != nil {
		return problem
	}
	mac := tree.Metadata.MessageAuthenticationCode
	if mac == "" || len(sources[mac]) == 0 {
		if _, problem := keys.dataKey(&tree.Metadata); problem != nil {
			return problem
		}
		return &Problem{Code: "unverified"}
	}
	sought := documents(tree)[0]
	var last *Problem
	for _, one := range sources[mac] {
		if last = one.check(keys); last != nil {
			continue
		}
		switch {
		case !one.has(sought):
			last = &Problem{Code: "moved", File: one.file}
		case one.tree.Metadata.MACOnlyEncrypted && (sought.version != "v1" || sought.kind != "Secret"):
			// Nothing says that it was of this kind when it was encrypted.
			last = &Problem{Code: "partial", File: one.file}
		default:
			return nil
		}
	}
	return last
}

func (one *source) check(keys *Keys) *Problem {
	if !one.checked {
		one.checked, one.problem = true, checkFile(one.tree, keys)
		if one.problem != nil {
			one.problem.File = one.file
		}
	}
	if one.problem == nil {
		return nil
	}
	copied := *one.problem
	return &copied
}

func checkFile(tree sops.Tree, keys *Keys) *Problem {
	key, problem := keys.dataKey(&tree.Metadata)
	if problem != nil {
		return problem
	}
	cipher := aes.NewCipher()
	mac, err := tree.Decrypt(key, cipher)
	if err != nil {
		return &Problem{Code: "malformed", Message: "a value of it cannot be decrypted"}
	}
	kept, err := cipher.Decrypt(
		tree.Metadata.MessageAuthenticationCode, key, tree.Metadata.LastModified.Format(time.RFC3339))
	if err != nil || kept != mac {
		return &Problem{Code: "mac"}
	}
	return nil
}

func (one *source) has(sought document) bool {
	for _, it := range one.documents {
		if it.version == sought.version && it.kind == sought.kind && contains(it.leaves, sought.leaves) {
			return true
		}
	}
	return false
}

func contains(all, some map[leaf]bool) bool {
	for one := range some {
		if !all[one] {
			return false
		}
	}
	return true
}

func load(file File) (sops.Tree, error) {
	if strings.HasSuffix(file.Path, ".json") {
		return jsonstore.NewStore(&config.JSONStoreConfig{}).LoadEncryptedFile(file.Content)
	}
	return yamlstore.NewStore(&config.YAMLStoreConfig{}).LoadEncryptedFile(file.Content)
}

func loadObject(object json.RawMessage) (sops.Tree, *Problem) {
	tree, err := jsonstore.NewStore(&config.JSONStoreConfig{}).LoadEncryptedFile(object)
	if err != nil || len(tree.Branches) != 1 {
		return sops.Tree{}, &Problem{Code: "malformed", Message: "its member sops is not that of a file of SOPS"}
	}
	return tree, nil
}

func documents(tree sops.Tree) []document {
	var found []document
	for _, branch := range tree.Branches {
		one := document{leaves: map[leaf]bool{}}
		for _, item := range branch {
			text, _ := item.Value.(string)
			switch item.Key {
			case "apiVersion":
				one.version = text
			case "kind":
				one.kind = text
			}
		}
		collect(branch, "", one.leaves)
		found = append(found, one)
	}
	return found
}

func collect(value any, path string, leaves map[leaf]bool) {
	switch value := value.(type) {
	case sops.TreeBranch:
		for _, item := range value {
			if key, ok := item.Key.(string); ok {
				collect(item.Value, path+key+":", leaves)
			}
		}
	case []any:
		for _, item := range value {
			collect(item, path, leaves)
		}
	case string:
		if isEncrypted(value) {
			leaves[leaf{path, value}] = true
		}
	}
}
