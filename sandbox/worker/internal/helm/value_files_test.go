package helm

import (
	"strings"
	"testing"

	"plumbline.dev/sandbox/worker/internal/operationtest"
	"plumbline.dev/sandbox/worker/internal/wire"
)

// Each file sets `last` and a key of its own, so that the output shows which were read, and in what order.
var written = operationtest.Files{
	"chart/envs/a.yaml": "last: a\nA: 1\n", "chart/envs/b.yaml": "last: b\nB: 1\n", "chart/envs/deep/er/c.yaml": "last: c\nC: 1\n",
	"$values/d.yaml": "last: d\nD: 1\n", "$values/envs/e.yaml": "last: e\nE: 1\n", "$values/note.txt": "text", "d.yaml": "last: own\n",
}

func rendered(t *testing.T, params Params) (string, *wire.Failure) {
	t.Helper()
	params.Path, params.Refs = "chart", []string{"values"}
	return operationtest.Run(t, Evaluate, params, "", chartWith(written))
}

func TestValueFilesComeInTheirOrder(t *testing.T) {
	for _, one := range []struct {
		files []string
		last  string
		not   string
	}{
		{[]string{"$values/d.yaml"}, "d", `"C"`},
		{[]string{"$values//d.yaml"}, "d", `"C"`},
		{[]string{"envs/*.yaml"}, "b", `"C"`},
		{[]string{"envs/**/*.yaml"}, "c", `"D"`},
		{[]string{"envs/[ab].yaml", "$values/envs/*.yaml"}, "e", `"D"`},
		{[]string{"envs/{a,x}*.yaml"}, "a", `"B"`},
		{[]string{"envs/b.yaml", "envs/*.yaml"}, "a", `"C"`},
		{[]string{"/chart/envs/?.yaml"}, "b", `"C"`},
		{[]string{"envs/b.yaml", "envs/a.yaml", "envs/b.yaml"}, "a", `"C"`},
	} {
		body, failure := rendered(t, Params{ValueFiles: one.files})
		if failure != nil || !strings.Contains(body, `"last":"`+one.last+`"`) || strings.Contains(body, one.not) {
			t.Errorf("%v: %v %s", one.files, failure, body)
		}
	}
}

func TestAFileOfAnotherSourceIsAParameter(t *testing.T) {
	body, failure := rendered(t, Params{FileParameters: []FileParameter{{Name: "note", Path: "$values/note.txt"}}})
	if failure != nil || !strings.Contains(body, `"note":"text"`) {
		t.Errorf("%v %s", failure, body)
	}
}

func TestAPatternThatMatchesNothingIsRefusedUnlessFilesMayBeMissing(t *testing.T) {
	for _, pattern := range []string{"none/*.yaml", "envs/*.json", "$values/none/*"} {
		if body, failure := rendered(t, Params{ValueFiles: []string{pattern}}); failure == nil || failure.File != pattern {
			t.Errorf("%s: %v %s", pattern, failure, body)
		}
		if _, failure := rendered(t, Params{ValueFiles: []string{pattern}, IgnoreMissingValueFiles: true}); failure != nil {
			t.Errorf("%s: %v", pattern, failure)
		}
	}
}

func TestNoPathLeavesTheOtherSource(t *testing.T) {
	for _, path := range []string{"$values/../d.yaml", "$values/../../passwd", "$values/x/../../*.yaml", "$other/d.yaml", "$/d.yaml", "$values"} {
		body, failure := rendered(t, Params{ValueFiles: []string{path}, IgnoreMissingValueFiles: path != "$values"})
		if failure == nil || strings.Contains(body, "own") {
			t.Errorf("%s: %v %s", path, failure, body)
		}
	}
}

func TestAPatternOfManyFoldersLooksAtEachOnce(t *testing.T) {
	deep := operationtest.Files{"chart/envs/" + strings.Repeat("x/", 30) + "v.yaml": "last: deep\n"}
	for _, pattern := range []string{"envs/" + strings.Repeat("**/", 30) + "*.yaml", "envs/" + strings.Repeat("**/*/", 12) + "*.yaml"} {
		params := Params{Path: "chart", ValueFiles: []string{pattern}}
		body, failure := operationtest.Run(t, Evaluate, params, "", chartWith(deep))
		if failure != nil || !strings.Contains(body, `"last":"deep"`) {
			t.Errorf("%s: %v %s", pattern, failure, body)
		}
	}
}
