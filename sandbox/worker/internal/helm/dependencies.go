package helm

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	chart "helm.sh/helm/v4/pkg/chart/v2"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"

	"plumbline.dev/sandbox/worker/internal/repository"
	"plumbline.dev/sandbox/worker/internal/wire"
)

const (
	localScheme      = "file://"
	maxDependencies  = 100
	maxChartNesting  = 10
	longestReference = 2048
)

// FetchedChart is a dependency that the agent has fetched; its files are those of the ref.
type FetchedChart struct {
	wire.Dependency
	Ref string `json:"ref"`
}

// chartLoader loads a chart with those that it depends on, and those that they depend on.
//
// What lies in charts/ is taken from there. What is missing there is taken from the same files where its repository
// is file://, else from the charts that the agent has fetched; what it has not fetched yet is noted in wanted.
type chartLoader struct {
	fetched map[wire.Dependency]string
	wanted  []wire.Dependency
	missing []string // for people
	loaded  int
}

// location is where a chart lies.
type location struct {
	files *repository.Files
	root  string
}

func newChartLoader(fetched []FetchedChart) *chartLoader {
	known := map[wire.Dependency]string{}
	for _, one := range fetched {
		known[one.Dependency] = one.Ref
	}
	return &chartLoader{fetched: known}
}

func (l *chartLoader) load(place location, above []location) (*chart.Chart, error) {
	if slices.Contains(above, place) {
		return nil, circle(place, above)
	}
	if l.loaded++; l.loaded > maxDependencies || len(above) > maxChartNesting {
		return nil, wire.NewFailure(wire.InputTooLarge, "the chart depends on more than %d charts, or on charts nested more than %d deep",
			maxDependencies, maxChartNesting)
	}
	loaded, err := loadChart(place.files, place.root)
	if err != nil {
		return nil, err
	}
	return loaded, l.complete(loaded, place, append(slices.Clone(above), place))
}

// complete adds the dependencies that are not in charts/; of several of one name and version there is one.
func (l *chartLoader) complete(loaded *chart.Chart, place location, above []location) error {
	vendored := loaded.Dependencies()
	missing := slices.DeleteFunc(slices.Clone(loaded.Metadata.Dependencies), func(wanted *chart.Dependency) bool {
		return slices.ContainsFunc(vendored, func(one *chart.Chart) bool { return one.Name() == wanted.Name })
	})
	if len(missing) == 0 {
		return nil
	}
	if err := checkLock(loaded, place); err != nil {
		return err
	}
	seen := map[wire.Dependency]bool{}
	for _, dependency := range missing {
		wanted, err := sought(loaded, dependency, place)
		if err != nil {
			return err
		}
		if seen[wanted] {
			continue
		}
		seen[wanted] = true
		found, err := l.dependency(wanted, place, above)
		if err != nil {
			return err
		}
		if found == nil {
			l.note(wanted, dependency)
			continue
		}
		if err := fits(found, dependency, place); err != nil {
			return err
		}
		loaded.AddDependency(found)
	}
	return nil
}

// dependency loads a chart that is not in charts/; nil where it has to be fetched first.
func (l *chartLoader) dependency(wanted wire.Dependency, place location, above []location) (*chart.Chart, error) {
	if local, ok := strings.CutPrefix(wanted.Repository, localScheme); ok {
		if strings.HasPrefix(local, "/") {
			return nil, invalid(place, "the repository of the dependency %s is %s; expected a path relative to the chart, as file://../%s",
				wanted.Name, wanted.Repository, wanted.Name)
		}
		root, err := repository.Resolve(place.root, local)
		if err != nil {
			return nil, err
		}
		stat, err := place.files.Stat(root)
		if err != nil {
			return nil, err
		}
		if stat.Kind != wire.KindTree {
			return nil, invalid(place, "the dependency %s is to be at %s, and there is no folder %s", wanted.Name, wanted.Repository, place.files.Shown(root))
		}
		return l.load(location{place.files, root}, above)
	}
	if ref, ok := l.fetched[wanted]; ok {
		return l.load(location{place.files.Of(ref), ""}, above)
	}
	return nil, nil
}

func (l *chartLoader) note(wanted wire.Dependency, written *chart.Dependency) {
	l.missing = append(l.missing, fmt.Sprintf("%s %s", written.Name, written.Version))
	if wanted.Repository != "" && !slices.Contains(l.wanted, wanted) {
		l.wanted = append(l.wanted, wanted)
	}
}

// lacking says which charts are not there; the agent fetches those that have a repository, and asks again.
func (l *chartLoader) lacking(top *chart.Chart, root string) error {
	if len(l.missing) == 0 {
		return nil
	}
	return &wire.Failure{Reason: wire.MissingDependency, File: path.Join(root, "Chart.yaml"), Dependencies: l.wanted,
		Message: wire.Clip(fmt.Sprintf("chart %s depends on charts that are not in its charts/ folder: %s; run `helm dependency build` and commit charts/",
			top.Name(), strings.Join(l.missing, ", ")))}
}

// sought is what to look for: the version of the lock, where there is one, else what Chart.yaml says.
func sought(loaded *chart.Chart, written *chart.Dependency, place location) (wire.Dependency, error) {
	wanted := wire.Dependency{Name: written.Name, Repository: written.Repository, Version: written.Version}
	if loaded.Lock != nil {
		if locked := loaded.Lock.Dependencies[slices.Index(loaded.Metadata.Dependencies, written)]; locked.Version != "" {
			wanted.Repository, wanted.Version, wanted.Locked = locked.Repository, locked.Version, true
		}
	}
	for _, text := range []string{wanted.Name, wanted.Repository, wanted.Version} {
		if len(text) > longestReference {
			return wanted, invalid(place, "a dependency has a field of %d characters; at most %d are read", len(text), longestReference)
		}
	}
	if wanted.Name == "" || (wanted.Version == "" && wanted.Repository != "") {
		return wanted, invalid(place, "the dependency %q has the version %q; expected a name and a version or a range", wanted.Name, wanted.Version)
	}
	return wanted, nil
}

// fits refuses a chart of another name, or of a version that was not asked for: Helm would leave it out, or enable it always.
func fits(found *chart.Chart, wanted *chart.Dependency, place location) error {
	if found.Name() != wanted.Name {
		return invalid(place, "the dependency %s leads to a chart of the name %s", wanted.Name, found.Name())
	}
	if !chartutil.IsCompatibleRange(wanted.Version, found.Metadata.Version) {
		return invalid(place, "the dependency %s is wanted in the version %s, and there is %s", wanted.Name, wanted.Version, found.Metadata.Version)
	}
	return nil
}

// checkLock compares the lock file with the dependencies by its digest, as `helm dependency build` does.
func checkLock(loaded *chart.Chart, place location) error {
	lock, wanted := loaded.Lock, loaded.Metadata.Dependencies
	if lock == nil {
		return nil
	}
	same := len(lock.Dependencies) == len(wanted)
	for number, one := range lock.Dependencies {
		same = same && one != nil && one.Name == wanted[number].Name
	}
	if same && (lock.Digest == lockDigest([2][]*chart.Dependency{resolved(wanted, lock.Dependencies), lock.Dependencies}) ||
		loaded.Metadata.APIVersion == chart.APIVersionV1 && lock.Digest == lockDigest(map[string][]*chart.Dependency{"dependencies": wanted})) {
		return nil
	}
	written, file := "Chart.yaml", "Chart.lock"
	if loaded.Metadata.APIVersion == chart.APIVersionV1 {
		written, file = "requirements.yaml", "requirements.lock"
	}
	return &wire.Failure{Reason: wire.ChartInvalid, File: place.files.Shown(path.Join(place.root, file)), Message: fmt.Sprintf(
		"the lock of chart %s is out of sync with the dependencies in %s; run `helm dependency update` and commit %s", loaded.Name(), written, file)}
}

// resolved writes the dependencies as Helm hashes them: a name of a repository (@name, alias:name) is its URL by then.
func resolved(wanted, locked []*chart.Dependency) []*chart.Dependency {
	hashed := make([]*chart.Dependency, len(wanted))
	for number, one := range wanted {
		copied := *one
		if strings.HasPrefix(one.Repository, "@") || strings.HasPrefix(one.Repository, "alias:") {
			copied.Repository = locked[number].Repository
		}
		hashed[number] = &copied
	}
	return hashed
}

func lockDigest(value any) string {
	encoded, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(encoded)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func circle(place location, above []location) error {
	var names []string
	for _, one := range append(slices.Clone(above[slices.Index(above, place):]), place) {
		names = append(names, one.files.Shown(one.root))
	}
	return &wire.Failure{Reason: wire.ChartInvalid, File: place.files.Shown(path.Join(place.root, "Chart.yaml")),
		Message: wire.Clip("charts depend on each other in a circle: " + strings.Join(names, " -> "))}
}

func invalid(place location, format string, args ...any) error {
	failure := wire.NewFailure(wire.ChartInvalid, format, args...)
	failure.File = place.files.Shown(path.Join(place.root, "Chart.yaml"))
	return failure
}
