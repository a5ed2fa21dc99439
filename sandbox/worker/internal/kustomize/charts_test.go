package kustomize

import (
	"strings"
	"testing"

	"plumbline.dev/sandbox/worker/internal/helm"
	"plumbline.dev/sandbox/worker/internal/operationtest"
	"plumbline.dev/sandbox/worker/internal/wire"
)

const (
	shownValues = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .Release.Name }}-{{ .Chart.Name }}', namespace: '{{ .Release.Namespace }}'}\n" +
		"data: {values: '{{ .Values | toJson }}', version: '{{ .Chart.Version }}', kube: '{{ .Capabilities.KubeVersion.Version }}'}\n"
	hook = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: hook, annotations: {helm.sh/hook: pre-install}}\n"
	crd  = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things.x.io}\nspec: {group: x.io}\n"
)

var redis = helm.FetchedChart{Dependency: wire.Dependency{Name: "redis", Repository: "https://charts.example", Version: "1.0.0"}, Ref: "redis"}

// chartAt is a chart in a folder of the repository, or of a ref.
func chartAt(folder, name string) operationtest.Files {
	return operationtest.Files{
		folder + "Chart.yaml":          "apiVersion: v2\nname: " + name + "\nversion: 1.0.0\n",
		folder + "values.yaml":         "size: 1\nlist: [a]\nnested: {a: 1, b: 2}\n",
		folder + "templates/show.yaml": shownValues,
		folder + "templates/hook.yaml": hook,
		folder + "crds/crd.yaml":       crd,
	}
}

func withCharts(entry string, parts ...operationtest.Files) operationtest.Files {
	files := operationtest.Files{"app/kustomization.yaml": entry}
	for _, part := range parts {
		for name, content := range part {
			files[name] = content
		}
	}
	return files
}

func inflatedBy(t *testing.T, files operationtest.Files, bases ...FetchedBase) (string, *wire.Failure) {
	t.Helper()
	return built(t, Params{EnableHelm: true, KubeVersion: "v1.33.0", Dependencies: []helm.FetchedChart{redis}, Bases: bases}, files)
}

func TestAChartBesideTheKustomizationIsInflated(t *testing.T) {
	files := withCharts("namePrefix: my-\nresources: [own.yaml]\nhelmCharts: [{name: web, releaseName: r, valuesInline: {size: 2}}]\n",
		chartAt("app/charts/web/", "web"), operationtest.Files{"app/own.yaml": configMap("own")})
	body, failure := inflatedBy(t, files)
	if failure != nil {
		t.Fatalf("%+v", failure)
	}
	for _, words := range []string{`"my-r-web"`, `"namespace":"default"`, `\"size\":2`, `\"b\":2`, `"v1.33.0"`, `"my-own"`, `"my-hook"`} {
		if !strings.Contains(body, words) {
			t.Errorf("%s is not in %s", words, body)
		}
	}
	for _, words := range []string{"things.x.io", "internal.config"} {
		if strings.Contains(body, words) {
			t.Errorf("%s is in %s", words, body)
		}
	}
}

func TestAChartOfARepositoryIsNamedForTheAgentAndTakenOfIt(t *testing.T) {
	entry := "helmCharts:\n- {name: redis, repo: 'https://charts.example', version: 1.0.0, releaseName: r, includeCRDs: true, skipHooks: true}\n" +
		"- {name: other, repo: 'oci://registry.example/charts', releaseName: o}\n"
	_, failure := inflatedBy(t, withCharts(entry, chartAt("$redis/", "redis")))
	other := wire.Dependency{Name: "other", Repository: "oci://registry.example/charts", Version: "*"}
	if failure == nil || failure.Reason != wire.MissingDependency || len(failure.Dependencies) != 1 || failure.Dependencies[0] != other {
		t.Fatalf("%+v", failure)
	}
	entry, _, _ = strings.Cut(entry, "- {name: other")
	body, failure := inflatedBy(t, withCharts(entry, chartAt("$redis/", "redis")))
	if failure != nil || !strings.Contains(body, `"r-redis"`) || !strings.Contains(body, "things.x.io") || strings.Contains(body, `"hook"`) {
		t.Errorf("%+v %s", failure, body)
	}
}

func TestValuesAreMergedAsKustomizeDoes(t *testing.T) {
	for entry, words := range map[string]string{
		"valuesInline: {list: [b], nested: {a: 3}}":                         `{\"list\":[\"b\"],\"nested\":{\"a\":3,\"b\":2},\"size\":1}`,
		"valuesMerge: merge, valuesInline: {size: 5, more: 1}":              `{\"list\":[\"a\"],\"more\":1,\"nested\":{\"a\":1,\"b\":2},\"size\":1}`,
		"valuesMerge: replace, valuesInline: {size: 5}":                     `\"size\":5`,
		"valuesFile: v.yaml":                                                `\"size\":7`,
		"valuesFile: v.yaml, additionalValuesFiles: [w.yaml]":               `\"size\":8`,
		"additionalValuesFiles: [v.yaml, w.yaml], valuesInline: {size: 99}": `\"size\":8`,
		"namespace: other":                                                  `"namespace":"other"`,
		"kubeVersion: v1.30.0":                                              `"v1.30.0"`,
	} {
		files := withCharts("helmCharts: [{name: web, releaseName: r, "+entry+"}]\n", chartAt("app/charts/web/", "web"),
			operationtest.Files{"app/v.yaml": "size: 7\n", "app/w.yaml": "size: 8\n"})
		body, failure := inflatedBy(t, files)
		if failure != nil || !strings.Contains(body, words) {
			t.Errorf("%s: %+v %s", entry, failure, body)
		}
	}
}

// A namespace of a kustomization is Helm's to use: kustomize leaves the objects of charts alone.
func TestAChartGetsTheNamespaceOfTheNearestKustomizationThatHasOne(t *testing.T) {
	inner := operationtest.Files{"inner/kustomization.yaml": "helmCharts: [{name: web, releaseName: r}]\n"}
	chart := chartAt("inner/charts/web/", "web")
	for entry, namespace := range map[string]string{
		"namespace: top\nresources: [../inner]\n":  "top",
		"resources: [../inner]\n":                  "default",
		"namespace: top\nresources: [../middle]\n": "middle",
	} {
		middle := operationtest.Files{"middle/kustomization.yaml": "namespace: middle\nresources: [../inner]\n"}
		body, failure := inflatedBy(t, withCharts(entry, inner, middle, chart))
		if failure != nil || !strings.Contains(body, `"namespace":"`+namespace+`"`) {
			t.Errorf("%s: %+v %s", entry, failure, body)
		}
	}
	twice := operationtest.Files{
		"a/kustomization.yaml": "namespace: a\nnamePrefix: a-\nresources: [../inner]\n",
		"b/kustomization.yaml": "namespace: b\nnamePrefix: b-\nresources: [../inner]\n",
	}
	_, failure := inflatedBy(t, withCharts("resources: [../a, ../b]\n", inner, twice, chart))
	if failure == nil || !strings.Contains(failure.Message, "give it several: a, b; write one for the chart") {
		t.Errorf("%+v", failure)
	}
}

func TestAChartOfARemoteBaseIsInflated(t *testing.T) {
	files := withCharts("resources: ['"+shop+"//base?ref=v1']\nnamespace: top\n", chartAt("$shop/base/charts/web/", "web"),
		operationtest.Files{"$shop/base/kustomization.yaml": "helmCharts: [{name: web, releaseName: r}]\n"})
	body, failure := inflatedBy(t, files, atShop)
	if failure != nil || !strings.Contains(body, `"namespace":"top"`) {
		t.Errorf("%+v %s", failure, body)
	}
}

func TestAChartThatCannotBeInflatedIsRefusedWithTheReason(t *testing.T) {
	for entry, words := range map[string]string{
		"helmCharts: [{name: web}]":                                                       "has no releaseName",
		"helmCharts: [{name: web, releaseName: r, nameTemplate: x}]":                      "nameTemplate",
		"helmCharts: [{name: web, releaseName: r, unheard: x}]":                           "unheard",
		"helmCharts: [{name: ../web, releaseName: r}]":                                    "expected the name of a chart",
		"helmCharts: [{name: gone, releaseName: r}]":                                      "has no repo to be read from",
		"helmCharts: [{name: web, releaseName: r, valuesMerge: x}]":                       "expected merge, override or replace",
		"helmCharts: [{name: web, releaseName: r, valuesFile: ../above.yaml}]":            "not in the folder of the kustomization",
		"helmCharts: [{name: web, releaseName: r, valuesFile: ../../../etc/passwd}]":      "leads out of the repository",
		"helmCharts: [{name: web, releaseName: r, valuesFile: 'https://h.example/v'}]":    "names the remote file",
		"helmCharts: [{name: web, releaseName: r, valuesFile: gone.yaml}]":                "does not exist",
		"helmGlobals: {chartHome: ../../../x}\nhelmCharts: [{name: web, releaseName: r}]": "leads out of the repository",
		"helmChartInflationGenerator: [{chartName: web}]":                                 "is an old form",
		"helmCharts: [{name: bad, releaseName: r}]":                                       "no such function",
	} {
		files := withCharts(entry+"\n", chartAt("app/charts/web/", "web"), operationtest.Files{
			"above.yaml": "size: 1\n", "app/charts/bad/Chart.yaml": "apiVersion: v2\nname: bad\nversion: 1.0.0\n", "app/charts/bad/templates/x.yaml": "{{ nope }}",
		})
		_, failure := inflatedBy(t, files)
		if failure == nil || !strings.Contains(failure.Message, words) && !strings.Contains(failure.Message, "not defined") {
			t.Errorf("%s: %+v", entry, failure)
		}
		if failure != nil && (strings.Contains(failure.Message, repositoryFolder) || len(failure.Dependencies) > 0) {
			t.Errorf("%s: %+v", entry, failure)
		}
	}
}

func TestChartsStayRefusedWhereHelmIsNotEnabled(t *testing.T) {
	files := withCharts("helmCharts: [{name: web, releaseName: r}]\n", chartAt("app/charts/web/", "web"))
	_, failure := built(t, Params{}, files)
	if failure == nil || !strings.Contains(failure.Message, "--enable-helm only; add it to kustomize.buildOptions of the ConfigMap argocd-cm") {
		t.Errorf("%+v", failure)
	}
}
