package kustomize

import (
	"strings"
	"testing"

	"plumbline.dev/sandbox/worker/internal/operationtest"
	"plumbline.dev/sandbox/worker/internal/wire"
)

const shop = "https://git.example/org/shop"

var (
	atShop  = FetchedBase{wire.Base{Repository: shop, Ref: "v1"}, "shop"}
	atTools = FetchedBase{wire.Base{Repository: "https://git.example/org/tools"}, "tools"}
)

func configMap(name string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\n"
}

func built(t *testing.T, params Params, files operationtest.Files) (string, *wire.Failure) {
	t.Helper()
	params.Path = "app"
	return operationtest.Run(t, Evaluate, params, "", files)
}

func TestURLsAreReadAsKustomizeReadsThem(t *testing.T) {
	for text, expected := range map[string]remoteBase{
		"https://github.com/org/repo":                        {wire.Base{Repository: "https://github.com/org/repo"}, ""},
		"https://github.com/org/repo/":                       {wire.Base{Repository: "https://github.com/org/repo"}, ""},
		"github.com/org/repo/a/b?ref=v1":                     {wire.Base{Repository: "https://github.com/org/repo", Ref: "v1"}, "a/b"},
		"https://github.com/org/repo//a/b/?ref=v1&timeout=9": {wire.Base{Repository: "https://github.com/org/repo", Ref: "v1"}, "a/b"},
		"git@github.com:org/repo.git//a?version=v2":          {wire.Base{Repository: "git@github.com:org/repo.git", Ref: "v2"}, "a"},
		"ssh://git@git.example:22/o/r.git?submodules=false":  {wire.Base{Repository: "ssh://git@git.example:22/o/r.git"}, ""},
		"git::https://git.example/o/r//notCloned":            {wire.Base{Repository: "https://git.example/o/r"}, "notCloned"},
		"https://git.example/notCloned.git//notCloned":       {wire.Base{Repository: "https://git.example/notCloned.git"}, "notCloned"},
		"https://git.example/a/notCloned":                    {wire.Base{Repository: "https://git.example/a/notCloned"}, ""},
		"https://git.example/a/b/c.git/d":                    {wire.Base{Repository: "https://git.example/a/b/c.git"}, "d"},
		"https://me@dev.azure.com/o/p/_git/r/x?ref=main":     {wire.Base{Repository: "https://me@dev.azure.com/o/p/_git/r", Ref: "main"}, "x"},
		"https://git.example/one//folder":                    {wire.Base{Repository: "https://git.example/one"}, "folder"},
	} {
		if seen := parseBase(text); seen == nil || *seen != expected {
			t.Errorf("%s: %+v", text, seen)
		}
	}
	for _, text := range []string{
		"../base", "base", "/base", "file:///a/b.git", "https://git.example/one", "gh:a/b", "s3::https://h/a/b",
		"https://git.example/a/b//../../c", "oci://h/a/b", "",
	} {
		if seen := parseBase(text); seen != nil {
			t.Errorf("%s was read as %+v", text, seen)
		}
	}
}

func TestRemoteBasesAreNamedForTheAgentAndTakenOfIt(t *testing.T) {
	files := operationtest.Files{
		"app/kustomization.yaml": "resources: [own.yaml, '" + shop + "//base?ref=v1', '" + shop + "//more?ref=v1', 'https://git.example/org/tools']\n" +
			"components: ['" + shop + "//extra?ref=v1']\nnamePrefix: my-\npatches: [{target: {name: low}, patch: '[{\"op\": \"add\", \"path\": \"/data\", \"value\": {\"a\": \"b\"}}]'}]\n",
		"app/own.yaml":                        configMap("own"),
		"$shop/base/kustomization.yaml":       "resources: [../common/low, 'https://git.example/org/tools']\nnameSuffix: -base\n",
		"$shop/common/low/kustomization.yaml": "resources: [low.yaml]\nconfigMapGenerator: [{name: made, files: [note.txt]}]\n",
		"$shop/common/low/low.yaml":           configMap("low"),
		"$shop/common/low/note.txt":           "hello",
		"$shop/more/kustomization.yml":        "resources: [more.yaml]\n",
		"$shop/more/more.yaml":                configMap("more"),
		"$shop/extra/kustomization.yaml":      "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\ncommonLabels: {team: x}\n",
		"$tools/kustomization.yaml":           "resources: [tool.yaml]\nnamePrefix: t-\n",
		"$tools/tool.yaml":                    configMap("tool"),
	}
	_, failure := built(t, Params{}, files)
	if failure == nil || failure.Reason != wire.RemoteBase || failure.File != "app/kustomization.yaml" {
		t.Fatalf("%+v", failure)
	}
	if len(failure.Bases) != 2 || failure.Bases[0] != atShop.Base || failure.Bases[1] != atTools.Base {
		t.Errorf("%+v", failure.Bases)
	}
	_, failure = built(t, Params{Bases: []FetchedBase{atShop}}, files)
	if failure == nil || len(failure.Bases) != 1 || failure.Bases[0] != atTools.Base {
		t.Errorf("%+v", failure)
	}
	files["$shop/base/kustomization.yaml"] = "resources: [../common/low]\nnameSuffix: -base\n"
	body, failure := built(t, Params{Bases: []FetchedBase{atShop, atTools}}, files)
	if failure != nil {
		t.Fatalf("%+v", failure)
	}
	for _, name := range []string{"my-own", "my-low-base", "my-more", "my-t-tool", "my-made-base-"} {
		if strings.Count(body, `"name":"`+name) != 1 {
			t.Errorf("%s is not in %s", name, body)
		}
	}
	if strings.Count(body, `"team":"x"`) != 5 || strings.Count(body, `"a":"b"`) != 1 {
		t.Errorf("the component or the patch is lost: %s", body)
	}
}

func TestABaseOfABaseIsNamedInItsTurn(t *testing.T) {
	files := operationtest.Files{
		"app/kustomization.yaml":        "resources: ['" + shop + "//base?ref=v1']\n",
		"$shop/base/kustomization.yaml": "resources: ['https://git.example/org/tools']\n",
		"$tools/kustomization.yaml":     "resources: [tool.yaml]\n",
		"$tools/tool.yaml":              configMap("tool"),
	}
	_, failure := built(t, Params{Bases: []FetchedBase{atShop}}, files)
	if failure == nil || len(failure.Bases) != 1 || failure.Bases[0] != atTools.Base || failure.File != shop+"?ref=v1//base/kustomization.yaml" {
		t.Fatalf("%+v", failure)
	}
	body, failure := built(t, Params{Bases: []FetchedBase{atShop, atTools}}, files)
	if failure != nil || !strings.Contains(body, `"tool"`) {
		t.Errorf("%+v %s", failure, body)
	}
}

// A base is the work of others: it gets neither the files of the Application's repository nor those of another base.
func TestABaseReachesNothingButItsOwnRepository(t *testing.T) {
	ways := []string{
		"../../app/secret.yaml", "../../repository/app/secret.yaml", "../../../../repository/app/secret.yaml", "/repository/app/secret.yaml",
		"/app/secret.yaml", "../../tools/tool.yaml", "../../../$tools/tool.yaml", "../..",
	}
	for _, restrictor := range []string{"", "none"} {
		for name, field := range fields {
			for _, way := range ways {
				files := operationtest.Files{
					"app/kustomization.yaml":        "resources: ['" + shop + "//base?ref=v1', 'https://git.example/org/tools']\n",
					"app/secret.yaml":               configMap("secret"),
					"$shop/base/kustomization.yaml": "resources: [x.yaml]\n" + strings.ReplaceAll(field, "%", way) + "\n",
					"$shop/base/x.yaml":             configMap("x"),
					"$tools/kustomization.yaml":     "resources: [tool.yaml]\n",
					"$tools/tool.yaml":              configMap("tool"),
				}
				if name == "resources" {
					files["$shop/base/kustomization.yaml"] = strings.ReplaceAll(field, "%", way) + "\n"
				}
				body, failure := built(t, Params{LoadRestrictor: restrictor, Bases: []FetchedBase{atShop, atTools}}, files)
				if failure == nil {
					t.Errorf("%s of %s was built: %s", way, name, body)
				}
			}
		}
	}
}

func TestBasesInACircleAreRefused(t *testing.T) {
	files := operationtest.Files{
		"app/kustomization.yaml":        "resources: ['" + shop + "//base?ref=v1']\n",
		"$shop/base/kustomization.yaml": "resources: ['https://git.example/org/tools']\n",
		"$tools/kustomization.yaml":     "resources: ['" + shop + "//base?ref=v1']\n",
	}
	_, failure := built(t, Params{Bases: []FetchedBase{atShop, atTools}}, files)
	if failure == nil || !strings.Contains(failure.Message, "cycle detected") || !strings.Contains(failure.Message, shop+"?ref=v1//base") {
		t.Errorf("%+v", failure)
	}
}

// Where the bases lie is another place in each build, and may neither be seen nor change what is built.
func TestWhereBasesLieIsNotSeen(t *testing.T) {
	files := operationtest.Files{
		"app/kustomization.yaml":        "resources: ['" + shop + "//base?ref=v1']\nbuildMetadata: [originAnnotations, transformerAnnotations]\nnamePrefix: a-\n",
		"$shop/base/kustomization.yaml": "resources: [x.yaml]\nnameSuffix: -b\nconfigMapGenerator: [{name: made, literals: [a=b]}]\n",
		"$shop/base/x.yaml":             configMap("x"),
	}
	first, failure := built(t, Params{Bases: []FetchedBase{atShop}}, files)
	if failure != nil || !strings.Contains(first, "path: "+shop+"?ref=v1//base/x.yaml") {
		t.Errorf("%+v %s", failure, first)
	}
	if second, _ := built(t, Params{Bases: []FetchedBase{atShop}}, files); second != first {
		t.Errorf("%s\n%s", first, second)
	}
	files["$shop/base/x.yaml"] = "a: b: c"
	_, failure = built(t, Params{Bases: []FetchedBase{atShop}}, files)
	_, again := built(t, Params{Bases: []FetchedBase{atShop}}, files)
	if failure == nil || failure.Message != again.Message || !strings.Contains(failure.Message, shop) {
		t.Errorf("%+v\n%+v", failure, again)
	}
}

func TestWhatIsNoFolderOfARepositoryIsRefusedWithTheReason(t *testing.T) {
	for written, words := range map[string]string{
		shop + "//gone?ref=v1":                                    "there is no folder gone in it",
		shop + "//base/x.yaml?ref=v1":                             "names the remote file",
		"https://raw.example/org/repo/main/a.yaml":                "files are not fetched from URLs",
		"https://git.example/one":                                 "names the remote base https://git.example/one",
		"https://git.example/o/r?ref=" + strings.Repeat("x", 300): "a ref of more than",
	} {
		files := operationtest.Files{
			"app/kustomization.yaml":        "resources: ['" + written + "']\n",
			"$shop/base/kustomization.yaml": "resources: [x.yaml]\n",
			"$shop/base/x.yaml":             configMap("x"),
		}
		_, failure := built(t, Params{Bases: []FetchedBase{atShop}}, files)
		if failure == nil || !strings.Contains(failure.Message, words) || len(failure.Bases) > 0 {
			t.Errorf("%s: %+v", written, failure)
		}
	}
}
