package kustomize

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/resource"

	"plumbline.dev/sandbox/worker/internal/repository"
	"plumbline.dev/sandbox/worker/internal/wire"
)

const (
	longestRepository = 2048
	longestRef        = 256
	probe             = "probe"
)

// FetchedBase is a remote base that the agent has fetched; its files are those of the ref.
type FetchedBase struct {
	wire.Base
	Files string `json:"files"`
}

// mount is a repository at a folder of the file system that kustomize sees.
type mount struct {
	folder string
	label  string // for people, in place of the folder
	files  *repository.Files
}

// place is a path of one of the mounts.
type place struct {
	mount *mount
	inner string
}

func (p place) path() string  { return path.Join(p.mount.folder, p.inner) }
func (p place) shown() string { return p.mount.label + p.inner }

// mountsOf places the repository and the remote bases. Kustomize follows "../.." from one folder to any other, and with
// LoadRestrictionsNone reads any file: so that a base reaches nothing but its own repository, no one can know where the
// others lie. Without bases there is nothing to hide.
func mountsOf(files *repository.Files, fetched []FetchedBase) (*mount, map[wire.Base]*mount) {
	own := &mount{folder: repositoryFolder, files: files}
	if len(fetched) == 0 {
		return own, nil
	}
	own.folder = "/" + rand.Text()
	bases := map[wire.Base]*mount{}
	for _, one := range fetched {
		bases[one.Base] = &mount{folder: "/" + rand.Text(), label: label(one.Base), files: files.Of(one.Files)}
	}
	return own, bases
}

func label(base wire.Base) string {
	shown := wire.WithoutPassword(base.Repository)
	if base.Ref != "" {
		shown += "?ref=" + base.Ref
	}
	return shown + "//"
}

// remoteBase is a folder of a Git repository, as kustomize reads it of a URL.
type remoteBase struct {
	wire.Base
	Path string
}

// parseBase reads an entry as kustomize does; nil where kustomize sees no repository in it. Its parser is internal, and
// the origin of a resource is what it lets out of it. What it says of a repository's root is the name of no folder, so a
// known name is put behind the path.
func parseBase(written string) *remoteBase {
	found := (&resource.Origin{}).Append(written)
	if found.Repo == "" || strings.HasPrefix(found.Repo, "file://") {
		return nil
	}
	address, query, _ := strings.Cut(written, "?")
	probed := (&resource.Origin{}).Append(address + "/" + probe + "?" + query)
	repository := strings.TrimRight(found.Repo, "/")
	if strings.TrimRight(probed.Repo, "/") != repository || path.Base(probed.Path) != probe {
		return nil
	}
	inner := path.Dir(path.Clean(probed.Path))
	if inner == "." || inner == "/" {
		inner = ""
	}
	return &remoteBase{wire.Base{Repository: repository, Ref: found.Ref}, inner}
}

func (k *fileSystem) checkLength(at place, base *remoteBase) error {
	if len(base.Repository) <= longestRepository && len(base.Ref) <= longestRef {
		return nil
	}
	return k.files.Refuse(wire.NewFailure(wire.KustomizeFailed, "%s names a remote base of more than %d characters, or a ref of more than %d",
		at.shown(), longestRepository, longestRef))
}

// isManifestFile tells whether a URL is meant as one of a file, which kustomize would load by HTTP.
func isManifestFile(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(path.Ext(name)))
}

// forPeople writes names of repositories for the folders where they lie.
func (k *fileSystem) forPeople(text string) string {
	pairs := []string{k.own.folder + "/", "", "'" + k.own.folder + "'", "'.'", k.own.folder, "."}
	for _, one := range k.bases {
		pairs = append(pairs, one.folder+"/", one.label, one.folder, one.label)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// withoutFolders writes names of repositories for the folders in a resource: an annotation of its origin names the paths.
func (k *fileSystem) withoutFolders(encoded []byte) []byte {
	for _, one := range k.bases {
		if !bytes.Contains(encoded, []byte(one.folder)) {
			continue
		}
		label, err := json.Marshal(one.label)
		if err != nil {
			continue
		}
		way := regexp.MustCompile(`(\.\./)*(\.\.)?` + one.folder + "/?")
		encoded = way.ReplaceAllLiteral(encoded, bytes.Trim(label, `"`))
	}
	return encoded
}
