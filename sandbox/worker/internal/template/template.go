// Package template renders Go templates, as Argo CD's ApplicationSets do.
package template

import (
	"encoding/json"
	"maps"
	"regexp"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"sigs.k8s.io/yaml"

	"plumbline.dev/sandbox/worker/internal/operation"
	"plumbline.dev/sandbox/worker/internal/wire"
)

// Params of the operation.
type Params struct {
	Templates []string `json:"templates"`
	Options   []string `json:"options"` // such as missingkey=error
}

// Evaluate renders each template with the body's JSON as data and gives the array of texts.
func Evaluate(call *operation.Call) (wire.Answer, error) {
	var params Params
	if err := call.DecodeParams(&params); err != nil {
		return wire.Answer{}, err
	}
	var values any
	if err := json.Unmarshal(call.Body, &values); err != nil {
		return wire.Answer{}, wire.NewFailure(wire.RequestInvalid, "the data is not JSON: %s", err)
	}
	for _, option := range params.Options {
		if !strings.HasPrefix(option, "missingkey=") {
			return wire.Answer{}, wire.NewFailure(wire.RequestInvalid, "unknown template option %q", option)
		}
	}
	texts := make([]string, 0, len(params.Templates))
	budget := call.Limits.OutputBytes
	for _, source := range params.Templates {
		text, err := Render(source, params.Options, values, &budget)
		if err != nil {
			return wire.Answer{}, err
		}
		texts = append(texts, text)
	}
	body, err := json.Marshal(texts)
	return wire.Answer{Body: body}, err
}

// Render renders one template with the data; the budget is how many bytes it may still write.
func Render(source string, options []string, values any, budget *int) (text string, err error) {
	parsed, err := template.New("template").Option(options...).Funcs(functions).Parse(source)
	if err != nil {
		return "", asFailure(err)
	}
	out := &limitedBuilder{left: budget}
	if err := parsed.Execute(out, values); err != nil {
		return "", asFailure(err)
	}
	return out.text.String(), nil
}

func asFailure(err error) *wire.Failure {
	trouble := wire.AsFailure(err, wire.TemplateFailed)
	trouble.Message = strings.TrimPrefix(trouble.Message, "template: ")
	return trouble
}

// limitedBuilder stops a template that writes without end.
type limitedBuilder struct {
	text strings.Builder
	left *int
}

func (b *limitedBuilder) Write(part []byte) (int, error) {
	if *b.left -= len(part); *b.left < 0 {
		return 0, wire.NewFailure(wire.OutputTooLarge, "the template writes more than the limit allows")
	}
	return b.text.Write(part)
}

// functions are sprig without what looks at this machine, and the additions of Argo CD's ApplicationSets.
var functions = makeFunctions()

func makeFunctions() template.FuncMap {
	functions := sprig.TxtFuncMap()
	for _, name := range []string{"env", "expandenv", "getHostByName"} {
		delete(functions, name)
	}
	maps.Copy(functions, template.FuncMap{
		"normalize":     normalize,
		"slugify":       slugify,
		"toYaml":        toYaml,
		"fromYaml":      fromYaml[map[string]any],
		"fromYamlArray": fromYaml[[]any],
	})
	return functions
}

var notInName = regexp.MustCompile(`[^-a-z0-9.]`)

// normalize makes a DNS name of a text: lower case, foreign characters become dashes, at most 253 of them.
func normalize(text string) string {
	text = notInName.ReplaceAllString(strings.ToLower(text), "-")
	if len(text) > 253 {
		text = text[:253]
	}
	return strings.Trim(text, "-.")
}

func toYaml(value any) (string, error) {
	text, err := yaml.Marshal(value)
	return strings.TrimSuffix(string(text), "\n"), err
}

func fromYaml[T any](text string) (T, error) {
	var value T
	err := yaml.Unmarshal([]byte(text), &value)
	return value, err
}
