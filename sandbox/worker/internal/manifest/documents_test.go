package manifest

import (
	"strings"
	"testing"

	"plumbline.dev/sandbox/worker/internal/wire"
)

func TestDocumentsAreCutAsKubernetesCutsThem(t *testing.T) {
	text := "\ufeff# only words\n---\n--- # named\na: 1\n---x: not a cut\n---\n\n"
	found := Documents([]byte(text), KubernetesSeparator)
	if len(found) != 2 || found[1].index != 2 || found[1].line != 2 {
		t.Fatalf("found %+v", found)
	}
	if !strings.Contains(string(found[1].Text), "---x") {
		t.Errorf("the line after the cut is gone: %q", found[1].Text)
	}
}

func TestHelmCutsAtAnyThreeDashes(t *testing.T) {
	found := Documents([]byte("a: 1\n---b: 2\n---\nc: 3"), HelmSeparator)
	if len(found) != 3 || string(found[1].Text) != "b: 2\n" {
		t.Fatalf("found %+v", found)
	}
}

func TestLinesOfErrorsCountFromTheTopOfTheFile(t *testing.T) {
	for cut, Separator := range map[string]Separator{"kubernetes": KubernetesSeparator, "helm": HelmSeparator} {
		objects := &Objects{limit: 1000}
		err := objects.AddText("x.yaml", []byte("kind: A\n---\nkind: B\na: b: c\n"), Separator)
		trouble := wire.AsFailure(err, wire.WorkerFailed)
		if trouble.Line != 4 || trouble.Document != 2 || !strings.Contains(trouble.Message, "line 4") {
			t.Errorf("%s: %+v", cut, trouble)
		}
	}
}

func TestATemplateThatWasNotRenderedIsNamedWithItsLine(t *testing.T) {
	objects := &Objects{limit: 1000}
	err := objects.AddText("x.yaml", []byte("kind: A\n---\nkind: B\na: {{ .b }}\n"), KubernetesSeparator)
	trouble := wire.AsFailure(err, wire.WorkerFailed)
	if trouble.Line != 4 || !strings.Contains(trouble.Message, "line 4: {{ is no YAML") {
		t.Errorf("%+v", trouble)
	}
}

func TestABrokenDocumentIsAnsweredInItsPlaceWhereEachCounts(t *testing.T) {
	text := []byte("kind: A\n---\na: b: c\n---\nno: kind\n---\nkind: B\n")
	objects := &Objects{limit: 1000, each: true}
	if err := objects.AddText("x.yaml", text, KubernetesSeparator); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(objects.body.String()), "\n")
	if len(lines) != 4 || lines[0] != `{"kind":"A"}` || lines[3] != `{"kind":"B"}` {
		t.Fatalf("found %q", lines)
	}
	for place, wanted := range map[int]string{1: `"document":2,"line":3}`, 2: `"document":3,`} {
		if !strings.HasPrefix(lines[place], `{"failure":{"message":"x.yaml, document`) || !strings.Contains(lines[place], wanted) {
			t.Errorf("found %q", lines[place])
		}
	}
	if len(objects.origins) != 4 || objects.origins[3].Document != 4 {
		t.Errorf("found %+v", objects.origins)
	}
}

func TestAnObjectNeedsAKind(t *testing.T) {
	for _, text := range []string{"a: 1", "kind: ''", "kind: [a]", "- a", "text", "kind: List\nitems: [{a: 1}]"} {
		objects := &Objects{limit: 1000}
		if err := objects.AddText("x", []byte(text), KubernetesSeparator); err == nil {
			t.Errorf("%q was taken as an object", text)
		}
	}
}
