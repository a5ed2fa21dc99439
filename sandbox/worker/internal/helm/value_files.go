package helm

import (
	"path"
	"slices"
	"strings"

	"github.com/gobwas/glob"

	"plumbline.dev/sandbox/worker/internal/repository"
	"plumbline.dev/sandbox/worker/internal/wire"
)

const meta = "*?["

// valueFile is a file of values: in the repository of the chart, or in that of another source.
type valueFile struct {
	files   *repository.Files
	name    string
	written string
}

// locateAll finds the value files in their order. A pattern stands for the files that it matches, in the order of
// their names, without those that are named beside it; a file that comes twice keeps its first place.
func locateAll(files *repository.Files, root string, params Params) ([]valueFile, error) {
	var found []valueFile
	var patterns []bool
	for _, written := range params.ValueFiles {
		one, err := locate(files, root, written, params.Refs)
		if err != nil {
			return nil, err
		}
		found, patterns = append(found, one), append(patterns, strings.ContainsAny(written, meta))
	}
	var ordered []valueFile
	for number, one := range found {
		if !patterns[number] {
			ordered = append(ordered, one)
			continue
		}
		matches, err := one.matches()
		if err != nil {
			return nil, err
		}
		if len(matches) == 0 && !params.IgnoreMissingValueFiles {
			return nil, &wire.Failure{Reason: wire.FileNotFound, File: one.written,
				Message: "no file matches the pattern " + one.written + " in valueFiles; correct it, or set ignoreMissingValueFiles"}
		}
		for _, match := range matches {
			named := slices.IndexFunc(found, match.same)
			if named < 0 || patterns[named] {
				ordered = append(ordered, match)
			}
		}
	}
	return withoutRepeats(ordered), nil
}

// locate resolves one path: from the root of another source with $name/, from the repository's root with a leading
// slash, else from the chart.
func locate(files *repository.Files, root, written string, refs []string) (valueFile, error) {
	if strings.Contains(written, "://") {
		return valueFile{}, wire.NewFailure(wire.RemoteFile, "the values file %s is remote; rendering has no network: copy it into the repository",
			wire.WithoutPassword(written))
	}
	from, inner := root, written
	if first, rest, _ := strings.Cut(written, "/"); strings.HasPrefix(first, "$") {
		if !slices.Contains(refs, first[1:]) {
			return valueFile{}, wire.NewFailure(wire.RequestInvalid, "the values file %s names no other source of the application by its ref", written)
		}
		files, from, inner = files.Of(first[1:]), "", rest
	}
	name, err := repository.Resolve(from, inner)
	return valueFile{files: files, name: name, written: written}, err
}

func (v valueFile) same(other valueFile) bool { return v.files == other.files && v.name == other.name }

func withoutRepeats(ordered []valueFile) []valueFile {
	var kept []valueFile
	for _, one := range ordered {
		if !slices.ContainsFunc(kept, one.same) {
			kept = append(kept, one)
		}
	}
	return kept
}

// matches walks along the elements of the pattern, from the folder before the first of them that is one, so that
// nothing else is looked at; ** is any number of folders.
func (v valueFile) matches() ([]valueFile, error) {
	names := map[string]bool{}
	folder, elements := "", strings.Split(v.name, "/")
	for len(elements) > 1 && !strings.ContainsAny(elements[0], meta) {
		folder, elements = path.Join(folder, elements[0]), elements[1:]
	}
	search := patternSearch{file: v, names: names, looked: map[string]bool{}}
	if err := search.walk(folder, collapsed(elements), 0); err != nil {
		return nil, err
	}
	var found []valueFile
	for name := range names {
		found = append(found, valueFile{files: v.files, name: name, written: name})
	}
	slices.SortFunc(found, func(a, b valueFile) int { return strings.Compare(a.name, b.name) })
	return found, nil
}

// collapsed has one ** where several follow each other: they match the same.
func collapsed(elements []string) []string {
	return slices.CompactFunc(elements, func(a, b string) bool { return a == "**" && b == "**" })
}

// patternSearch collects the names that a pattern matches. It looks at a folder once for each rest of the pattern:
// with several ** the ways to it would be more than can be walked.
type patternSearch struct {
	file   valueFile
	names  map[string]bool
	looked map[string]bool
}

func (s *patternSearch) walk(folder string, elements []string, depth int) error {
	if depth > repository.MaxNesting {
		return wire.NewFailure(wire.InputTooLarge, "folders are nested more than %d deep at %s", repository.MaxNesting, folder)
	}
	place := strings.Join(elements, "/") + "\x00" + folder
	if s.looked[place] {
		return nil
	}
	s.looked[place] = true
	element, rest := elements[0], elements[1:]
	if element == "**" && len(rest) > 0 {
		if err := s.walk(folder, rest, depth); err != nil {
			return err
		}
	}
	pattern, err := glob.Compile(element)
	if err != nil {
		return wire.NewFailure(wire.GlobInvalid, "pattern %q in valueFiles: %s", s.file.written, err)
	}
	entries, err := s.file.files.List(folder)
	if err != nil {
		if repository.IsMissing(err) {
			return nil
		}
		return err
	}
	for _, entry := range entries {
		if !pattern.Match(entry.Name) {
			continue
		}
		if err := s.entry(path.Join(folder, entry.Name), element, rest, depth); err != nil {
			return err
		}
	}
	return nil
}

func (s *patternSearch) entry(name, element string, rest []string, depth int) error {
	stat, err := s.file.files.Stat(name)
	if err != nil {
		return err
	}
	switch {
	case stat.Kind == wire.KindTree && element == "**":
		return s.walk(name, append([]string{"**"}, rest...), depth+1)
	case stat.Kind == wire.KindTree && len(rest) > 0:
		return s.walk(name, rest, depth+1)
	case stat.Kind == wire.KindBlob && len(rest) == 0:
		s.names[name] = true
	}
	return nil
}
