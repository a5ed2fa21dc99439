package jq

import (
	"encoding/json"
	"strings"
	"testing"

	"plumbline.dev/sandbox/worker/internal/operationtest"
)

const document = `{"spec":{"replicas":3,"containers":[{"name":"a","image":"a:1"},{"name":"b","image":"b:1"},{"name":"c","image":"c:1"}]}}`

func paths(t *testing.T, milliseconds int, body string, expressions ...string) PathsAnswer {
	t.Helper()
	params := PathParams{Expressions: expressions, Milliseconds: milliseconds}
	written, failure := operationtest.Run(t, EvaluatePaths, params, body, nil)
	if failure != nil {
		t.Fatal(failure)
	}
	var answer PathsAnswer
	if err := json.Unmarshal([]byte(written), &answer); err != nil {
		t.Fatal(err)
	}
	return answer
}

func TestPathsAreTheExistingPlacesThatAnExpressionNames(t *testing.T) {
	for expression, expected := range map[string]string{
		".spec.replicas": `[["spec","replicas"]]`,
		`.spec.containers[] | select(.name == "b") | .image`:  `[["spec","containers",1,"image"]]`,
		".spec.containers[]?.image":                           `[["spec","containers",0,"image"],["spec","containers",1,"image"],["spec","containers",2,"image"]]`,
		".spec.containers[-1]":                                `[["spec","containers",2]]`,
		".spec.containers[1:]":                                `[["spec","containers",1],["spec","containers",2]]`,
		".spec.containers[:-2]":                               `[["spec","containers",0]]`,
		".spec.missing, .spec.replicas, .status.x.y":          `[["spec","replicas"]]`,
		`.. | select(type == "number")`:                       `[["spec","replicas"]]`,
		"def f: .spec; f.replicas # note":                     `[["spec","replicas"]]`,
		`.metadata.annotations["a.b/c"]`:                      `[]`,
		".spec.containers[7]":                                 `[]`,
		`.spec | to_entries[] | select(.key == "x") | .value`: ``,
		".": ``,
	} {
		answer := paths(t, 1000, document, expression)
		result := answer.Documents[0][0]
		encoded, _ := json.Marshal(result.Paths)
		if answer.Problems[0] != "" {
			t.Errorf("%s: %s", expression, answer.Problems[0])
		}
		if expected == "" && result.Problem == "" || expected != "" && string(encoded) != expected {
			t.Errorf("%s: %s %q", expression, encoded, result.Problem)
		}
	}
}

func TestAnExpressionThatDoesNotCompileHasItsReasonAndStopsNoOther(t *testing.T) {
	answer := paths(t, 1000, document+"\n"+document, ".spec[", ".spec.replicas", ".a) | (.b", "nonsense(1)")
	for i, invalid := range []bool{true, false, true, true} {
		if (answer.Problems[i] != "") != invalid {
			t.Errorf("%d: %q", i, answer.Problems[i])
		}
	}
	if len(answer.Documents) != 2 || len(answer.Documents[1][1].Paths) != 1 {
		t.Errorf("%v", answer.Documents)
	}
}

func TestAnEndlessExpressionEndsAfterItsTime(t *testing.T) {
	answer := paths(t, 50, document, "def f: f; f", "[limit(3; repeat(.))] | .[0]", ".spec.replicas")
	if problem := answer.Documents[0][0].Problem; !strings.Contains(problem, "longer than 50ms") {
		t.Errorf("%q", problem)
	}
	if len(answer.Documents[0][2].Paths) != 1 {
		t.Errorf("%v", answer.Documents[0][2])
	}
}
