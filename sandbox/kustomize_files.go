package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// repositoryFolder is where kustomize believes the repository lies. It is not the root of its world,
// so that "../../.." cannot be cleaned into something harmless but stays visible as a way out.
const repositoryFolder = "/repository"

func inRepository(name string) string { return path.Join(repositoryFolder, name) }

// kustomizeFiles is the file system that kustomize sees: the repository, read only, with overlays in memory.
type kustomizeFiles struct {
	files   *Files
	overlay map[string][]byte
}

var _ filesys.FileSystem = (*kustomizeFiles)(nil)

func newKustomizeFiles(files *Files) *kustomizeFiles {
	return &kustomizeFiles{files: files, overlay: map[string][]byte{}}
}

// inside turns kustomize's path into ours and refuses the way out of the repository.
func (k *kustomizeFiles) inside(name string) (string, error) {
	clean := path.Clean(name)
	if !path.IsAbs(clean) {
		clean = path.Join(repositoryFolder, clean)
	}
	if clean == repositoryFolder {
		return "", nil
	}
	inner, ok := strings.CutPrefix(clean, repositoryFolder+"/")
	if !ok {
		return "", k.files.refuse(&Failure{Reason: OutsideRepository, File: name,
			Message: "the path " + name + " leads out of the repository"})
	}
	return inner, nil
}

func (k *kustomizeFiles) stat(name string) (Stat, error) {
	inner, err := k.inside(name)
	if err != nil {
		return Stat{}, err
	}
	return k.files.Stat(inner)
}

func (k *kustomizeFiles) IsDir(name string) bool {
	stat, err := k.stat(name)
	return err == nil && stat.Kind == kindTree
}

func (k *kustomizeFiles) Exists(name string) bool {
	stat, err := k.stat(name)
	return err == nil && stat.Kind != ""
}

// CleanedAbs follows links, as kustomize expects, so that its own rule about files above a root holds.
func (k *kustomizeFiles) CleanedAbs(name string) (filesys.ConfirmedDir, string, error) {
	stat, err := k.stat(name)
	switch {
	case err != nil:
		return "", "", err
	case stat.Kind == kindTree:
		return filesys.ConfirmedDir(inRepository(stat.Path)), "", nil
	case stat.Kind == "":
		return "", "", fmt.Errorf("%s does not exist: %w", name, fs.ErrNotExist)
	}
	folder, file := path.Split(inRepository(stat.Path))
	return filesys.ConfirmedDir(path.Clean(folder)), file, nil
}

func (k *kustomizeFiles) ReadFile(name string) ([]byte, error) {
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

func (k *kustomizeFiles) ReadDir(name string) ([]string, error) {
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
func (k *kustomizeFiles) Glob(pattern string) ([]string, error) {
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

func (k *kustomizeFiles) Open(name string) (filesys.File, error) {
	content, err := k.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return &openFile{Reader: strings.NewReader(string(content)), name: path.Base(name), size: len(content)}, nil
}

func (k *kustomizeFiles) Create(name string) (filesys.File, error)    { return nil, readOnly(name) }
func (k *kustomizeFiles) Mkdir(name string) error                     { return readOnly(name) }
func (k *kustomizeFiles) MkdirAll(name string) error                  { return readOnly(name) }
func (k *kustomizeFiles) RemoveAll(name string) error                 { return readOnly(name) }
func (k *kustomizeFiles) WriteFile(name string, _ []byte) error       { return readOnly(name) }
func (k *kustomizeFiles) Walk(name string, _ filepath.WalkFunc) error { return readOnly(name) }

func readOnly(name string) error { return fmt.Errorf("%s: the repository is read only", name) }

func isKustomization(name string) bool {
	for _, known := range konfig.RecognizedKustomizationFileNames() {
		if path.Base(name) == known {
			return true
		}
	}
	return false
}

// openFile is a file in memory, and what os.FileInfo wants to know about it.
type openFile struct {
	io.Reader
	name string
	size int
}

func (f *openFile) Write([]byte) (int, error)  { return 0, readOnly(f.name) }
func (f *openFile) Close() error               { return nil }
func (f *openFile) Stat() (os.FileInfo, error) { return f, nil }
func (f *openFile) Name() string               { return f.name }
func (f *openFile) Size() int64                { return int64(f.size) }
func (f *openFile) Mode() os.FileMode          { return 0o444 }
func (f *openFile) ModTime() time.Time         { return time.Time{} }
func (f *openFile) IsDir() bool                { return false }
func (f *openFile) Sys() any                   { return nil }
