package kustomize

import (
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"plumbline.dev/sandbox/worker/internal/operation"
	"plumbline.dev/sandbox/worker/internal/repository"
	"plumbline.dev/sandbox/worker/internal/wire"
)

// repositoryFolder is where kustomize believes the repository lies. It is not the root of its file system,
// so that "../../.." cannot be cleaned into something harmless but stays visible as a path out of the repository.
const repositoryFolder = "/repository"

// fileSystem is the file system that kustomize sees: the repository and the remote bases that the agent has fetched,
// read only, with overlays of the repository in memory.
type fileSystem struct {
	own     *mount
	bases   map[wire.Base]*mount
	files   *repository.Files
	overlay map[string][]byte // by kustomize's path
	params  Params
	limits  wire.Limits

	fetched   map[wire.Dependency]string // the files of the charts that the agent has fetched
	inherited map[string][]string        // the namespaces that a folder has from kustomizations above it
	charts    int
}

var _ filesys.FileSystem = (*fileSystem)(nil)

func newFileSystem(call *operation.Call, params Params) *fileSystem {
	own, bases := mountsOf(call.Files, params.Bases)
	fetched := map[wire.Dependency]string{}
	for _, one := range params.Dependencies {
		fetched[one.Dependency] = one.Ref
	}
	return &fileSystem{own: own, bases: bases, files: call.Files, overlay: map[string][]byte{}, params: params, limits: call.Limits,
		fetched: fetched, inherited: map[string][]string{}}
}

func (k *fileSystem) inRepository(name string) string { return path.Join(k.own.folder, name) }

// inside turns kustomize's path into ours and refuses a path out of the repository.
func (k *fileSystem) inside(name string) (place, error) {
	clean := path.Clean(name)
	if !path.IsAbs(clean) {
		clean = k.inRepository(clean)
	}
	folder, inner, _ := strings.Cut(clean[1:], "/")
	if "/"+folder == k.own.folder {
		return place{k.own, inner}, nil
	}
	for _, one := range k.bases {
		if "/"+folder == one.folder {
			return place{one, inner}, nil
		}
	}
	shown := k.forPeople(name)
	return place{}, k.files.Refuse(&wire.Failure{Reason: wire.OutsideRepository, File: shown,
		Message: "the path " + shown + " leads out of the repository"})
}

func (k *fileSystem) stat(name string) (wire.Stat, error) {
	_, stat, err := k.look(name)
	return stat, err
}

func (k *fileSystem) look(name string) (place, wire.Stat, error) {
	at, err := k.inside(name)
	if err != nil {
		return at, wire.Stat{}, err
	}
	if _, overlaid := k.overlay[at.path()]; overlaid {
		return at, wire.Stat{Kind: wire.KindBlob, Path: at.inner}, nil
	}
	stat, err := at.mount.files.Stat(at.inner)
	return at, stat, err
}

func (k *fileSystem) IsDir(name string) bool {
	stat, err := k.stat(name)
	return err == nil && stat.Kind == wire.KindTree
}

func (k *fileSystem) Exists(name string) bool {
	stat, err := k.stat(name)
	return err == nil && stat.Kind != ""
}

// CleanedAbs follows links, as kustomize expects, so that its own rule about files above a root holds.
func (k *fileSystem) CleanedAbs(name string) (filesys.ConfirmedDir, string, error) {
	at, stat, err := k.look(name)
	switch {
	case err != nil:
		return "", "", err
	case stat.Kind == "":
		return "", "", fmt.Errorf("%s does not exist: %w", name, fs.ErrNotExist)
	}
	led := place{at.mount, stat.Path}.path()
	if stat.Kind == wire.KindTree {
		return filesys.ConfirmedDir(led), "", nil
	}
	folder, file := path.Split(led)
	return filesys.ConfirmedDir(path.Clean(folder)), file, nil
}

func (k *fileSystem) ReadFile(name string) ([]byte, error) {
	at, err := k.inside(name)
	if err != nil {
		return nil, err
	}
	content, overlaid := k.overlay[at.path()]
	if !overlaid {
		if content, err = at.mount.files.Read(at.inner); err != nil {
			return nil, err
		}
	}
	if isKustomization(at.inner) {
		return k.localised(at, content)
	}
	return content, nil
}

func (k *fileSystem) ReadDir(name string) ([]string, error) {
	at, err := k.inside(name)
	if err != nil {
		return nil, err
	}
	entries, err := at.mount.files.List(at.inner)
	names := make([]string, 0, len(entries))
	for _, entry := range entries {
		names = append(names, entry.Name)
	}
	return names, err
}

// Glob is used by kustomize for patterns in a few generator fields; it matches in the last element only.
func (k *fileSystem) Glob(pattern string) ([]string, error) {
	names, err := k.ReadDir(path.Dir(pattern))
	if err != nil {
		return nil, nil
	}
	var found []string
	for _, name := range names {
		if matched, err := path.Match(path.Base(pattern), name); err != nil || matched {
			found = append(found, path.Join(path.Dir(pattern), name))
		}
	}
	return found, nil
}

func (k *fileSystem) Open(name string) (filesys.File, error) {
	content, err := k.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return repository.NewOpenFile(path.Base(name), content), nil
}

func (k *fileSystem) Create(name string) (filesys.File, error)    { return nil, repository.ReadOnly(name) }
func (k *fileSystem) Mkdir(name string) error                     { return repository.ReadOnly(name) }
func (k *fileSystem) MkdirAll(name string) error                  { return repository.ReadOnly(name) }
func (k *fileSystem) RemoveAll(name string) error                 { return repository.ReadOnly(name) }
func (k *fileSystem) WriteFile(name string, _ []byte) error       { return repository.ReadOnly(name) }
func (k *fileSystem) Walk(name string, _ filepath.WalkFunc) error { return repository.ReadOnly(name) }

func isKustomization(name string) bool {
	for _, known := range konfig.RecognizedKustomizationFileNames() {
		if path.Base(name) == known {
			return true
		}
	}
	return false
}
