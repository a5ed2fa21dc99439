package helm

import (
	"strings"
	"testing"

	"plumbline.dev/sandbox/worker/internal/operationtest"
)

func chartWith(more operationtest.Files) operationtest.Files {
	files := operationtest.Files{
		"chart/Chart.yaml": "apiVersion: v2\nname: x\nversion: 1.0.0\n", "chart/values.yaml": "a: 1\n",
		"chart/templates/x.yaml": "kind: A\nvalues: {{ .Values | toJson }}\n", "passwd": "root:x", "other/Chart.yaml": "apiVersion: v2\nname: dep\nversion: 1.0.0\n",
		"other/templates/y.yaml": "kind: Leaked\n",
	}
	for name, content := range more {
		files[name] = content
	}
	return files
}

func TestAChartIsRenderedWithItsValues(t *testing.T) {
	body, failure := operationtest.Run(t, Evaluate, Params{Path: "chart", ReleaseName: "r", Values: "b: 2"}, "", chartWith(nil))
	if failure != nil || body != "{\"kind\":\"A\",\"values\":{\"a\":1,\"b\":2,\"global\":{}}}\n" && body != "{\"kind\":\"A\",\"values\":{\"a\":1,\"b\":2}}\n" {
		t.Errorf("%v %q", failure, body)
	}
}

// The name of a dependency is a name, never a path to a chart beside charts/.
func TestADependencyNamedByAPathIsRefused(t *testing.T) {
	for _, name := range []string{"../../other", "/other", "..", "../../../etc", "charts/../../../other"} {
		text := "apiVersion: v2\nname: x\nversion: 1.0.0\ndependencies: [{name: '" + name + "', version: 1.0.0, repository: ''}]\n"
		body, failure := operationtest.Run(t, Evaluate, Params{Path: "chart"}, "", chartWith(operationtest.Files{"chart/Chart.yaml": text}))
		if failure == nil || strings.Contains(body, "Leaked") {
			t.Errorf("%s: %v %q", name, failure, body)
		}
	}
}

func TestAValuesFileStaysInTheRepository(t *testing.T) {
	for _, written := range []string{
		"../../passwd", "/../passwd", "../../../../etc/passwd", "https://evil.example/v.yaml", "file:///etc/passwd", "s3://b/k", "$other/v.yaml",
	} {
		for _, params := range []Params{
			{Path: "chart", ValueFiles: []string{written}, IgnoreMissingValueFiles: true},
			{Path: "chart", FileParameters: []FileParameter{{Name: "a", Path: written}}},
		} {
			body, failure := operationtest.Run(t, Evaluate, params, "", chartWith(nil))
			if failure == nil {
				t.Errorf("%s: %q", written, body)
			}
		}
	}
}

// A template reads the chart's own files and no other.
func TestATemplateReadsNoFileOutsideTheChart(t *testing.T) {
	for _, written := range []string{"../passwd", "/passwd", "../../etc/passwd", "/etc/passwd", "*/../../passwd"} {
		template := "kind: A\ngot: {{ .Files.Get \"" + written + "\" | quote }}\nglob: {{ len (.Files.Glob \"" + written + "\") }}\n"
		body, failure := operationtest.Run(t, Evaluate, Params{Path: "chart"}, "", chartWith(operationtest.Files{"chart/templates/x.yaml": template}))
		if failure != nil || body != "{\"glob\":0,\"got\":\"\",\"kind\":\"A\"}\n" {
			t.Errorf("%s: %v %q", written, failure, body)
		}
	}
}
