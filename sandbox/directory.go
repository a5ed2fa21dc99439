package main

import (
	"bytes"
	"errors"
	"path"
	"strings"

	"github.com/gobwas/glob"
)

// skipMarker in a file keeps it out of a directory application, as in Argo CD.
var skipMarker = []byte("+argocd:skip-file-rendering")

type directoryParams struct {
	Path     string        `json:"path"`
	Recurse  bool          `json:"recurse"`
	Include  string        `json:"include"`
	Exclude  string        `json:"exclude"`
	MaxBytes int           `json:"maxBytes"`
	Jsonnet  jsonnetParams `json:"jsonnet"`
}

// directoryOp reads a folder of manifests and jsonnet files, in the order of their paths.
func directoryOp(call *Call) (Answer, error) {
	var params directoryParams
	if err := call.params(&params); err != nil {
		return Answer{}, err
	}
	walk, err := newDirectoryWalk(call, params)
	if err != nil {
		return Answer{}, err
	}
	if err := walk.folder(""); err != nil {
		return Answer{}, err
	}
	return walk.objects.answer(), nil
}

type directoryWalk struct {
	call             *Call
	params           directoryParams
	root             string
	include, exclude *glob.Pattern
	objects          *Objects
	taken            int
	nesting          int
}

const maxNesting = 100 // a symbolic link to a parent folder would otherwise never end

func newDirectoryWalk(call *Call, params directoryParams) (*directoryWalk, error) {
	walk := &directoryWalk{call: call, params: params, objects: &Objects{limit: call.Limits.OutputBytes}}
	if walk.params.MaxBytes <= 0 {
		walk.params.MaxBytes = 10 << 20
	}
	var err error
	if walk.include, err = compileGlob(params.Include); err != nil {
		return nil, err
	}
	if walk.exclude, err = compileGlob(params.Exclude); err != nil {
		return nil, err
	}
	walk.root, err = existingFolder(call.Files, params.Path)
	return walk, err
}

// existingFolder resolves the path of an application and wants a folder there.
func existingFolder(files *Files, written string) (string, error) {
	root, err := resolve("", written)
	if err != nil {
		return "", err
	}
	stat, err := files.Stat(root)
	if err != nil {
		return "", err
	}
	if stat.Kind != kindTree {
		return "", &Failure{Reason: PathNotFound, File: root, Message: "the repository has no folder " + written}
	}
	return root, nil
}

func compileGlob(pattern string) (*glob.Pattern, error) {
	if pattern == "" {
		return nil, nil
	}
	compiled, err := glob.Compile(pattern)
	if err != nil {
		return nil, failure(GlobInvalid, "pattern %q: %s", pattern, err)
	}
	return compiled, nil
}

func (w *directoryWalk) folder(relative string) error {
	if w.nesting++; w.nesting > maxNesting {
		return failure(InputTooLarge, "folders are nested more than %d deep at %s", maxNesting, relative)
	}
	defer func() { w.nesting-- }()
	entries, err := w.call.Files.List(path.Join(w.root, relative))
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := w.entry(path.Join(relative, entry.Name), entry.Kind); err != nil {
			return err
		}
	}
	return nil
}

func (w *directoryWalk) entry(relative, kind string) error {
	switch {
	case kind == kindTree && w.params.Recurse:
		return w.folder(relative)
	case kind == kindSubmodule && w.params.Recurse && !w.excluded(relative):
		return w.refuse(relative, "is a submodule, whose files are not read")
	case kind == kindTree || kind == kindSubmodule || !w.wanted(relative):
		return nil
	case kind != kindBlob:
		return w.link(relative)
	}
	return w.file(path.Join(w.root, relative))
}

// link follows a symbolic link. One that leads to a folder is passed over, as Argo CD does. One that leads
// nowhere is refused: somebody meant a manifest, and its objects would be pruned.
func (w *directoryWalk) link(relative string) error {
	stat, err := w.call.Files.Stat(path.Join(w.root, relative))
	switch {
	case err != nil:
		return err
	case stat.Kind == kindBlob:
		return w.file(path.Join(w.root, relative))
	case stat.Kind == "":
		return w.refuse(relative, "is a symbolic link that leads to nothing")
	}
	return nil
}

func (w *directoryWalk) refuse(relative, why string) error {
	name := path.Join(w.root, relative)
	return &Failure{Reason: FileNotFound, File: name,
		Message: name + " " + why + "; remove it, or name it in spec.source.directory.exclude"}
}

func (w *directoryWalk) excluded(relative string) bool {
	return w.exclude != nil && w.exclude.Match(relative)
}

func (w *directoryWalk) wanted(relative string) bool {
	switch path.Ext(relative) {
	case ".yaml", ".yml", ".json", ".jsonnet":
	default:
		return false
	}
	if w.excluded(relative) {
		return false
	}
	return w.include == nil || w.include.Match(relative)
}

func (w *directoryWalk) file(name string) error {
	content, err := w.call.Files.Read(name)
	if err != nil {
		return err
	}
	text, err := plainText(name, content)
	if err != nil || bytes.Contains(text, skipMarker) {
		return leftOut(err)
	}
	if strings.HasSuffix(name, ".jsonnet") {
		return w.objects.addJsonnet(w.call, w.params.Jsonnet, name, nil)
	}
	if w.taken += len(content); w.taken > w.params.MaxBytes {
		return &Failure{Reason: InputTooLarge, File: name,
			Message: "the manifest files of this folder have more than " + itoa(w.params.MaxBytes) + " bytes"}
	}
	return w.manifests(name, text)
}

// manifests refuses a file that holds anything but objects. Argo CD passes one over that does not look like a
// manifest to it, and prunes what was in it before the mistake; here the message says how to leave it out.
func (w *directoryWalk) manifests(name string, text []byte) error {
	return leftOut(w.objects.addManifest(name, text))
}

func leftOut(err error) error {
	var found *Failure
	if !errors.As(err, &found) || found.Reason != YamlInvalid {
		return err
	}
	told := *found
	told.Message += leaveOut
	return &told
}

const leaveOut = "; if this file is no manifest, name it in spec.source.directory.exclude, " +
	"or write +argocd:skip-file-rendering in a comment of it"
