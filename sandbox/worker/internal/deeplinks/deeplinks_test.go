package deeplinks

import (
	"encoding/json"
	"strings"
	"testing"

	"plumbline.dev/sandbox/worker/internal/operationtest"
)

const data = `{"application":{"metadata":{"name":"web","labels":{"team":"shop"}}},"resource":{"kind":"Pod","spec":{"replicas":3}}}`

func results(t *testing.T, links ...Link) []Result {
	t.Helper()
	body, failure := operationtest.Run(t, Evaluate, Params{Links: links}, data, nil)
	if failure != nil {
		t.Fatal(failure)
	}
	var found []Result
	if err := json.Unmarshal([]byte(body), &found); err != nil {
		t.Fatal(err)
	}
	return found
}

func TestTheURLIsATemplateOfTheData(t *testing.T) {
	found := results(t, Link{URL: "https://x/{{ .application.metadata.name | upper }}"})
	if found[0] != (Result{URL: "https://x/WEB"}) {
		t.Errorf("%+v", found)
	}
}

func TestALinkIsThereWhereItsConditionHolds(t *testing.T) {
	for condition, holds := range map[string]bool{
		"": true,
		`application.metadata.labels.team == "shop"`:    true,
		`application.metadata.labels["team"] == "it"`:   false,
		`resource.kind in ["Pod", "Job"]`:               true,
		`resource.spec.replicas > 2`:                    true,
		`project == nil`:                                true,
		`project != nil && project.metadata.name != ""`: false,
		`application.metadata.name matches "^we.$"`:     true,
	} {
		found := results(t, Link{URL: "https://x", Condition: condition})
		if found[0].Problem != "" || (found[0].URL != "") != holds {
			t.Errorf("%s: %+v", condition, found)
		}
	}
}

func TestALinkThatIsWrongSpoilsNoOther(t *testing.T) {
	for _, wrong := range []Link{
		{URL: "{{ .application"},
		{URL: `{{ env "HOME" }}`},
		{URL: "https://x", Condition: `application.metadata.name`},
		{URL: "https://x", Condition: `application.metadata.name.deeper.still`},
		{URL: "https://x", Condition: `1 +`},
		{URL: "https://x", Condition: `all(1..1000000, all(1..1000000, # > 0))`},
		{URL: `{{ range $i, $e := until 5000 }}x{{ end }}`},
	} {
		found := results(t, wrong, Link{URL: "https://good"})
		if found[0].Problem == "" || found[0].URL != "" || found[1].URL != "https://good" {
			t.Errorf("%+v: %+v", wrong, found)
		}
	}
}

func TestAConditionIsNamedAsWhatIsWrong(t *testing.T) {
	if found := results(t, Link{Condition: "1 +"}); !strings.HasPrefix(found[0].Problem, "if: ") {
		t.Errorf("%+v", found)
	}
}
