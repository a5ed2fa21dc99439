package helm

import (
	"bytes"
	"path"
	"strings"

	"helm.sh/helm/v4/pkg/chart/loader/archive"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/ignore"

	"plumbline.dev/sandbox/worker/internal/repository"
	"plumbline.dev/sandbox/worker/internal/wire"
)

// loadChart gathers the chart's folder, without what .helmignore names, and hands it to Helm's loader.
func loadChart(files *repository.Files, root string) (*chart.Chart, error) {
	gather := chartFiles{files: files, root: root, rules: ignore.Empty()}
	if err := gather.readRules(); err != nil {
		return nil, err
	}
	if err := gather.folder(""); err != nil {
		return nil, err
	}
	loaded, err := loader.LoadFiles(gather.found)
	if err != nil {
		trouble := wire.AsFailure(err, wire.ChartInvalid)
		trouble.File = files.Shown(path.Join(root, "Chart.yaml"))
		return nil, trouble
	}
	return loaded, nil
}

type chartFiles struct {
	files   *repository.Files
	root    string
	rules   *ignore.Rules
	found   []*archive.BufferedFile
	nesting int
}

func (c *chartFiles) readRules() error {
	content, err := c.files.Read(path.Join(c.root, ignore.HelmIgnore))
	if err == nil {
		if c.rules, err = ignore.Parse(bytes.NewReader(content)); err != nil {
			return &wire.Failure{Reason: wire.ChartInvalid, File: path.Join(c.root, ignore.HelmIgnore), Message: err.Error()}
		}
	} else if !repository.IsMissing(err) {
		return err
	}
	c.rules.AddDefaults()
	return nil
}

func (c *chartFiles) folder(relative string) error {
	if c.nesting++; c.nesting > repository.MaxNesting {
		return wire.NewFailure(wire.InputTooLarge, "folders are nested more than %d deep at %s", repository.MaxNesting, relative)
	}
	defer func() { c.nesting-- }()
	entries, err := c.files.List(path.Join(c.root, relative))
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := c.entry(path.Join(relative, entry.Name), entry.Kind); err != nil {
			return err
		}
	}
	return nil
}

func (c *chartFiles) entry(relative, kind string) error {
	if kind != wire.KindTree && kind != wire.KindBlob {
		stat, err := c.files.Stat(path.Join(c.root, relative))
		if err != nil {
			return err
		}
		kind = stat.Kind
	}
	if c.rules.Ignore(relative, ignored{OpenFile: repository.NewOpenFile(path.Base(relative), nil), folder: kind == wire.KindTree}) {
		return nil
	}
	switch kind {
	case wire.KindTree:
		return c.folder(relative)
	case wire.KindBlob:
		return c.file(relative)
	}
	name := path.Join(c.root, relative)
	return &wire.Failure{Reason: wire.FileNotFound, File: name,
		Message: name + " is a symbolic link that leads to nothing, or a submodule; remove it, or name it in .helmignore"}
}

func (c *chartFiles) file(relative string) error {
	content, err := c.files.Read(path.Join(c.root, relative))
	if err != nil {
		return err
	}
	content = bytes.TrimPrefix(content, []byte("\xef\xbb\xbf"))
	c.found = append(c.found, &archive.BufferedFile{Name: relative, Data: content})
	return nil
}

// ignored is what the rules of .helmignore want to know of an entry.
type ignored struct {
	*repository.OpenFile
	folder bool
}

func (i ignored) IsDir() bool { return i.folder }

// chartPath turns a template's name (mychart/charts/sub/templates/x.yaml) into the path in the repository.
func chartPath(root, template string) string {
	_, inner, found := strings.Cut(template, "/")
	if !found {
		return path.Join(root, template)
	}
	return path.Join(root, inner)
}
