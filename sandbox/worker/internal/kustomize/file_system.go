package kustomize

import (
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"plumbline.dev/sandbox/worker/internal/repository"
	"plumbline.dev/sandbox/worker/internal/wire"
)

// repositoryFolder is where kustomize believes the repository lies. It is not the root of its file system,
// so that "../../.." cannot be cleaned into something harmless but stays visible as a path out of the repository.
const repositoryFolder = "/repository"

func inRepository(name string) string { return path.Join(repositoryFolder, name) }

// fileSystem is the file system that kustomize sees: the repository, read only, with overlays in memory.
type fileSystem struct {
	files   *repository.Files
	overlay map[string][]byte
}

var _ filesys.FileSystem = (*fileSystem)(nil)

func newFileSystem(files *repository.Files) *fileSystem {
	return &fileSystem{files: files, overlay: map[string][]byte{}}
}

// inside turns kustomize's path into ours and refuses a path out of the repository.
func (k *fileSystem) inside(name string) (string, error) {
	clean := path.Clean(name)
	if !path.IsAbs(clean) {
		clean = path.Join(repositoryFolder, clean)
	}
	if clean == repositoryFolder {
		return "", nil
	}
	inner, ok := strings.CutPrefix(clean, repositoryFolder+"/")
	if !ok {
		return "", k.files.Refuse(&wire.Failure{Reason: wire.OutsideRepository, File: name,
			Message: "the path " + name + " leads out of the repository"})
	}
	return inner, nil
}

func (k *fileSystem) stat(name string) (wire.Stat, error) {
	inner, err := k.inside(name)
	if err != nil {
		return wire.Stat{}, err
	}
	return k.files.Stat(inner)
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
	stat, err := k.stat(name)
	switch {
	case err != nil:
		return "", "", err
	case stat.Kind == wire.KindTree:
		return filesys.ConfirmedDir(inRepository(stat.Path)), "", nil
	case stat.Kind == "":
		return "", "", fmt.Errorf("%s does not exist: %w", name, fs.ErrNotExist)
	}
	folder, file := path.Split(inRepository(stat.Path))
	return filesys.ConfirmedDir(path.Clean(folder)), file, nil
}

func (k *fileSystem) ReadFile(name string) ([]byte, error) {
	inner, err := k.inside(name)
	if err != nil {
		return nil, err
	}
	content, overlaid := k.overlay[inner]
	if !overlaid {
		if content, err = k.files.Read(inner); err != nil {
			return nil, err
		}
	}
	if isKustomization(inner) {
		if err := k.refuseRemote(inner, content); err != nil {
			return nil, err
		}
	}
	return content, nil
}

func (k *fileSystem) ReadDir(name string) ([]string, error) {
	inner, err := k.inside(name)
	if err != nil {
		return nil, err
	}
	entries, err := k.files.List(inner)
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
