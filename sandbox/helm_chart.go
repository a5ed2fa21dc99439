package main

import (
	"bytes"
	"path"
	"strings"

	"helm.sh/helm/v4/pkg/chart/loader/archive"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/ignore"
)

// loadChart gathers the chart's folder, without what .helmignore names, and hands it to Helm's loader.
func loadChart(files *Files, root string) (*chart.Chart, error) {
	gather := chartFiles{files: files, root: root, rules: ignore.Empty()}
	if err := gather.readRules(); err != nil {
		return nil, err
	}
	if err := gather.folder(""); err != nil {
		return nil, err
	}
	loaded, err := loader.LoadFiles(gather.found)
	if err != nil {
		trouble := asFailure(err, ChartInvalid)
		trouble.File = path.Join(root, "Chart.yaml")
		return nil, trouble
	}
	return loaded, loadable(loaded, root)
}

type chartFiles struct {
	files   *Files
	root    string
	rules   *ignore.Rules
	found   []*archive.BufferedFile
	nesting int
}

func (c *chartFiles) readRules() error {
	content, err := c.files.Read(path.Join(c.root, ignore.HelmIgnore))
	if err == nil {
		if c.rules, err = ignore.Parse(bytes.NewReader(content)); err != nil {
			return &Failure{Reason: ChartInvalid, File: path.Join(c.root, ignore.HelmIgnore), Message: err.Error()}
		}
	} else if !isMissing(err) {
		return err
	}
	c.rules.AddDefaults()
	return nil
}

func (c *chartFiles) folder(relative string) error {
	if c.nesting++; c.nesting > maxNesting {
		return failure(InputTooLarge, "folders are nested more than %d deep at %s", maxNesting, relative)
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
	if kind != kindTree && kind != kindBlob {
		stat, err := c.files.Stat(path.Join(c.root, relative))
		if err != nil {
			return err
		}
		kind = stat.Kind
	}
	if c.rules.Ignore(relative, ignored{&openFile{name: path.Base(relative)}, kind == kindTree}) {
		return nil
	}
	switch kind {
	case kindTree:
		return c.folder(relative)
	case kindBlob:
		return c.file(relative)
	}
	name := path.Join(c.root, relative)
	return &Failure{Reason: FileNotFound, File: name,
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
	*openFile
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
