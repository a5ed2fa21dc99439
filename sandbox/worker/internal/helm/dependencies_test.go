package helm

import (
	"fmt"
	"strings"
	"testing"

	"plumbline.dev/sandbox/worker/internal/operationtest"
	"plumbline.dev/sandbox/worker/internal/wire"
)

const shown = "kind: A\nname: {{ .Chart.Name }}\nversion: {{ .Chart.Version }}\n"

// dependent is a chart in a folder that depends on others, as they are written.
func dependent(folder, name string, dependencies ...string) operationtest.Files {
	return operationtest.Files{
		folder + "/Chart.yaml":       "apiVersion: v2\nname: " + name + "\nversion: 1.0.0\ndependencies: [" + strings.Join(dependencies, ", ") + "]\n",
		folder + "/templates/x.yaml": shown,
	}
}

func together(parts ...operationtest.Files) operationtest.Files {
	all := operationtest.Files{}
	for _, part := range parts {
		for name, content := range part {
			all[name] = content
		}
	}
	return all
}

func renderedNames(t *testing.T, files operationtest.Files, fetched ...FetchedChart) (string, *wire.Failure) {
	t.Helper()
	body, failure := operationtest.Run(t, Evaluate, Params{Path: "web", Dependencies: fetched}, "", files)
	var names []string
	for _, line := range strings.Split(strings.TrimSpace(body), "\n") {
		names = append(names, strings.ReplaceAll(strings.ReplaceAll(line, "{\"kind\":\"A\",\"name\":", ""), "\"", ""))
	}
	return strings.Join(names, " "), failure
}

func TestAChartOfTheSameRepositoryIsTakenFromItsFolder(t *testing.T) {
	files := together(
		dependent("web", "web", "{name: common, version: 1.x, repository: 'file://../shared/common'}"),
		dependent("shared/common", "common", "{name: base, version: ^1, repository: 'file://../base', alias: ground}"),
		dependent("shared/base", "base"),
	)
	body, failure := renderedNames(t, files)
	if failure != nil || body != "ground,version:1.0.0} common,version:1.0.0} web,version:1.0.0}" {
		t.Errorf("%v %q", failure, body)
	}
}

func TestWhatIsNotInTheRepositoryIsNamedForTheAgentAndTakenOfIt(t *testing.T) {
	redis := wire.Dependency{Name: "redis", Repository: "https://charts.example", Version: "^1"}
	files := together(
		dependent("web", "web", "{name: redis, version: ^1, repository: 'https://charts.example', condition: redis.enabled}",
			"{name: redis, version: ^1, repository: 'https://charts.example', alias: second}"),
		dependent("$r/x", "unused"),
	)
	for name, content := range dependent("x", "redis", "{name: common, version: 1.0.0, repository: 'oci://r.example/c'}") {
		files["$r"+strings.TrimPrefix(name, "x")] = content
	}
	_, failure := renderedNames(t, files)
	if failure == nil || failure.Reason != wire.MissingDependency || len(failure.Dependencies) != 1 || failure.Dependencies[0] != redis {
		t.Fatalf("%v", failure)
	}
	common := wire.Dependency{Name: "common", Repository: "oci://r.example/c", Version: "1.0.0"}
	_, failure = renderedNames(t, files, FetchedChart{redis, "r"})
	if failure == nil || len(failure.Dependencies) != 1 || failure.Dependencies[0] != common {
		t.Fatalf("%v", failure)
	}
	for name, content := range dependent("c", "common") {
		files["$"+name] = content
	}
	body, failure := renderedNames(t, files, FetchedChart{redis, "r"}, FetchedChart{common, "c"})
	if failure != nil || strings.Count(body, "redis") != 1 || strings.Count(body, "second") != 1 || strings.Count(body, "common") != 2 {
		t.Errorf("%v %q", failure, body)
	}
}

func TestALockNamesTheVersions(t *testing.T) {
	files := dependent("web", "web", "{name: redis, version: ^1, repository: '@stable'}")
	lock := "dependencies:\n- name: redis\n  repository: https://charts.example\n  version: 1.4.2\ndigest: %s\ngenerated: \"2026-01-01T00:00:00Z\"\n"
	// As Helm 3 and 4 write it: sha256 of [[{"name":"redis","version":"^1","repository":"https://charts.example"}],[{..."version":"1.4.2"...}]].
	files["web/Chart.lock"] = fmt.Sprintf(lock, "sha256:f07a48e28afd1a733a6aa4540ef026c75710b6b273c320777ba5e0f887791c52")
	_, failure := renderedNames(t, files)
	locked := wire.Dependency{Name: "redis", Repository: "https://charts.example", Version: "1.4.2", Locked: true}
	if failure == nil || len(failure.Dependencies) != 1 || failure.Dependencies[0] != locked {
		t.Errorf("%v", failure)
	}
	files["web/Chart.lock"] = fmt.Sprintf(lock, "sha256:0000")
	if _, failure = renderedNames(t, files); failure == nil || failure.Reason != wire.ChartInvalid || failure.File != "web/Chart.lock" {
		t.Errorf("%v", failure)
	}
}

func TestRequirementsOfTheFirstChartVersionCount(t *testing.T) {
	files := operationtest.Files{
		"web/Chart.yaml":        "apiVersion: v1\nname: web\nversion: 1.0.0\n",
		"web/requirements.yaml": "dependencies: [{name: redis, version: ^1, repository: 'https://charts.example'}]\n",
	}
	if _, failure := renderedNames(t, files); failure == nil || len(failure.Dependencies) != 1 {
		t.Errorf("%v", failure)
	}
	files["web/requirements.lock"] = "dependencies: [{name: redis, version: 1.0.0, repository: 'https://charts.example'}]\ndigest: sha256:0\n"
	if _, failure := renderedNames(t, files); failure == nil || failure.File != "web/requirements.lock" {
		t.Errorf("%v", failure)
	}
}

func TestADependencyThatCannotBeIsRefused(t *testing.T) {
	local := func(where string) string { return "{name: dep, version: 1.x, repository: 'file://" + where + "'}" }
	other := dependent("other", "dep")
	for name, one := range map[string]struct {
		files  operationtest.Files
		reason wire.Reason
		words  string
	}{
		"circle":   {together(dependent("web", "web", local("../other")), dependent("other", "dep", "{name: web, version: '*', repository: 'file://../web'}")), wire.ChartInvalid, "web -> other -> web"},
		"itself":   {dependent("web", "dep", local("../web")), wire.ChartInvalid, "circle"},
		"outside":  {dependent("web", "web", local("../../../etc")), wire.OutsideRepository, "leads out"},
		"absolute": {together(other, dependent("web", "web", local("/other"))), wire.ChartInvalid, "relative"},
		"gone":     {dependent("web", "web", local("../gone")), wire.ChartInvalid, "no folder gone"},
		"no chart": {together(dependent("web", "web", local("../y")), operationtest.Files{"y/a": ""}), wire.ChartInvalid, "Chart.yaml"},
		"version":  {together(other, dependent("web", "web", "{name: dep, version: 2.x, repository: 'file://../other'}")), wire.ChartInvalid, "2.x"},
		"name":     {together(dependent("other", "another"), dependent("web", "web", local("../other"))), wire.ChartInvalid, "another"},
		"no place": {dependent("web", "web", "{name: dep, version: 1.x, repository: ''}"), wire.MissingDependency, "dep 1.x"},
		"no range": {dependent("web", "web", "{name: dep, repository: 'https://c.example'}"), wire.ChartInvalid, "version"},
		"long":     {dependent("web", "web", "{name: dep, version: 1.x, repository: 'https://"+strings.Repeat("x", 3000)+"'}"), wire.ChartInvalid, "3008"},
	} {
		body, failure := renderedNames(t, one.files)
		if failure == nil || failure.Reason != one.reason || !strings.Contains(failure.Message, one.words) || len(failure.Dependencies) > 0 {
			t.Errorf("%s: %v %q", name, failure, body)
		}
	}
}

// Each of many charts may depend on all that come after it: the number of charts that are loaded has a limit.
func TestTheNumberOfChartsIsLimited(t *testing.T) {
	var parts []operationtest.Files
	for number := range 9 {
		var next []string
		for other := number + 1; other < 9; other++ {
			next = append(next, fmt.Sprintf("{name: c%d, version: 1.x, repository: 'file://../c%d'}", other, other))
		}
		parts = append(parts, dependent(fmt.Sprintf("c%d", number), fmt.Sprintf("c%d", number), next...))
	}
	files := together(append(parts, dependent("web", "web", "{name: c0, version: 1.x, repository: 'file://../c0'}"))...)
	if _, failure := renderedNames(t, files); failure == nil || failure.Reason != wire.InputTooLarge {
		t.Errorf("%v", failure)
	}
}
