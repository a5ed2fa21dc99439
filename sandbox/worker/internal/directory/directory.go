// Package directory reads a folder of manifests and jsonnet files.
package directory

import (
	"bytes"
	"errors"
	"path"
	"strconv"
	"strings"

	"github.com/gobwas/glob"

	"plumbline.dev/sandbox/worker/internal/jsonnet"
	"plumbline.dev/sandbox/worker/internal/manifest"
	"plumbline.dev/sandbox/worker/internal/operation"
	"plumbline.dev/sandbox/worker/internal/repository"
	"plumbline.dev/sandbox/worker/internal/wire"
)

// skipMarker in a file keeps it out of a directory application, as in Argo CD.
var skipMarker = []byte("+argocd:skip-file-rendering")

// Params of the operation.
type Params struct {
	Path     string            `json:"path"`
	Recurse  bool              `json:"recurse"`
	Include  string            `json:"include"`
	Exclude  string            `json:"exclude"`
	MaxBytes int               `json:"maxBytes"`
	Jsonnet  jsonnet.Variables `json:"jsonnet"`

	SkipJsonnet bool `json:"skipJsonnet"` // jsonnet is switched off: its files are passed over, as in Argo CD
}

// Evaluate reads a folder of manifests and jsonnet files, in the order of their paths.
func Evaluate(call *operation.Call) (wire.Answer, error) {
	var params Params
	if err := call.DecodeParams(&params); err != nil {
		return wire.Answer{}, err
	}
	walk, err := newDirectoryWalk(call, params)
	if err != nil {
		return wire.Answer{}, err
	}
	if err := walk.folder(""); err != nil {
		return wire.Answer{}, err
	}
	return walk.objects.Answer(), nil
}

type directoryWalk struct {
	call             *operation.Call
	params           Params
	root             string
	include, exclude *glob.Pattern
	objects          *manifest.Objects
	taken            int
	nesting          int
}

func newDirectoryWalk(call *operation.Call, params Params) (*directoryWalk, error) {
	walk := &directoryWalk{call: call, params: params, objects: manifest.NewObjects(call.Limits.OutputBytes)}
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
	walk.root, err = repository.ExistingFolder(call.Files, params.Path)
	return walk, err
}

func compileGlob(pattern string) (*glob.Pattern, error) {
	if pattern == "" {
		return nil, nil
	}
	compiled, err := glob.Compile(pattern)
	if err != nil {
		return nil, wire.NewFailure(wire.GlobInvalid, "pattern %q: %s", pattern, err)
	}
	return compiled, nil
}

func (w *directoryWalk) folder(relative string) error {
	if w.nesting++; w.nesting > repository.MaxNesting {
		return wire.NewFailure(wire.InputTooLarge, "folders are nested more than %d deep at %s", repository.MaxNesting, relative)
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
	case kind == wire.KindTree && w.params.Recurse:
		return w.folder(relative)
	case kind == wire.KindSubmodule && w.params.Recurse && !w.excluded(relative):
		return w.refuse(relative, "is a submodule, whose files are not read")
	case kind == wire.KindTree || kind == wire.KindSubmodule || !w.wanted(relative):
		return nil
	case kind != wire.KindBlob:
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
	case stat.Kind == wire.KindBlob:
		return w.file(path.Join(w.root, relative))
	case stat.Kind == "":
		return w.refuse(relative, "is a symbolic link that leads to nothing")
	}
	return nil
}

func (w *directoryWalk) refuse(relative, why string) error {
	name := path.Join(w.root, relative)
	return &wire.Failure{Reason: wire.FileNotFound, File: name,
		Message: name + " " + why + "; remove it, or name it in spec.source.directory.exclude"}
}

func (w *directoryWalk) excluded(relative string) bool {
	return w.exclude != nil && w.exclude.Match(relative)
}

func (w *directoryWalk) wanted(relative string) bool {
	if isOverride(path.Base(relative)) {
		return false
	}
	switch path.Ext(relative) {
	case ".yaml", ".yml", ".json":
	case ".jsonnet":
		if w.params.SkipJsonnet {
			return false
		}
	default:
		return false
	}
	if w.excluded(relative) {
		return false
	}
	return w.include == nil || w.include.Match(relative)
}

// isOverride tells of the files that change an application's source: the agent reads them, and they are no manifests.
func isOverride(name string) bool {
	rest, found := strings.CutPrefix(name, ".argocd-source")
	return found && strings.HasSuffix(rest, ".yaml") && (rest == ".yaml" || rest[0] == '-')
}

func (w *directoryWalk) file(name string) error {
	content, err := w.call.Files.Read(name)
	if err != nil {
		return err
	}
	text, err := manifest.PlainText(name, content)
	if err != nil || bytes.Contains(text, skipMarker) {
		return leftOut(err)
	}
	if strings.HasSuffix(name, ".jsonnet") {
		return jsonnet.Add(w.objects, w.call, w.params.Jsonnet, name)
	}
	if w.taken += len(content); w.taken > w.params.MaxBytes {
		return &wire.Failure{Reason: wire.InputTooLarge, File: name,
			Message: "the manifest files of this folder have more than " + strconv.Itoa(w.params.MaxBytes) + " bytes"}
	}
	return w.manifests(name, text)
}

// manifests refuses a file that holds anything but objects. Argo CD passes one over that does not look like a
// manifest to it, and prunes what was in it before the mistake; here the message says how to leave it out.
func (w *directoryWalk) manifests(name string, text []byte) error {
	return leftOut(w.objects.AddManifest(name, text))
}

func leftOut(err error) error {
	var found *wire.Failure
	if !errors.As(err, &found) || found.Reason != wire.YamlInvalid {
		return err
	}
	explained := *found
	explained.Message += leaveOut
	return &explained
}

const leaveOut = "; if this file is no manifest, name it in spec.source.directory.exclude, " +
	"or write +argocd:skip-file-rendering in a comment of it"
