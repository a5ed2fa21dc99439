package manifest

import (
	"encoding/binary"
	"strings"
	"testing"
	"unicode/utf16"
)

func inUTF16(text string, order binary.AppendByteOrder, mark bool) []byte {
	if mark {
		text = "\ufeff" + text
	}
	var content []byte
	for _, unit := range utf16.Encode([]rune(text)) {
		content = order.AppendUint16(content, unit)
	}
	return content
}

const threeObjects = "kind: A\nname: ä\U0001f600\n---\nkind: B\n---\n# c\nkind: C\n"

func TestEveryDocumentOfATextInUTF16IsRead(t *testing.T) {
	for name, content := range map[string][]byte{
		"utf-8": []byte(threeObjects), "utf-8, marked": []byte("\ufeff" + threeObjects),
		"big": inUTF16(threeObjects, binary.BigEndian, false), "big, marked": inUTF16(threeObjects, binary.BigEndian, true),
		"little": inUTF16(threeObjects, binary.LittleEndian, false), "little, marked": inUTF16(threeObjects, binary.LittleEndian, true),
		"json":         inUTF16(`{"kind":"A","name":"ä😀"} {"kind":"B"}{"kind":"C"}`, binary.BigEndian, false),
		"crlf":         []byte(strings.ReplaceAll(threeObjects, "\n", "\r\n")),
		"marks inside": []byte(strings.ReplaceAll(threeObjects, "---\n", "---\n\ufeff")),
		"marks before": []byte(strings.ReplaceAll(threeObjects, "---\n", "\ufeff---\n")),
		"end markers":  []byte(strings.ReplaceAll(threeObjects, "---\n", "...\n# c\n---\n")),
	} {
		objects := &Objects{limit: 1000}
		if err := objects.AddManifest("x.yaml", content); err != nil {
			t.Errorf("%s: %s", name, err)
		}
		wanted := "{\"kind\":\"A\",\"name\":\"ä😀\"}\n{\"kind\":\"B\"}\n{\"kind\":\"C\"}\n"
		if seen := objects.body.String(); seen != wanted {
			t.Errorf("%s: %q", name, seen)
		}
	}
}

// What a parser would drop without a word is refused, and the file is named.
func TestAFileOfWhichAParserWouldDropAPartIsRefused(t *testing.T) {
	for name, text := range map[string]string{
		"utf-32":                 "\x00\x00\x00k\x00\x00\x00i",
		"utf-32, marked":         "\xff\xfe\x00\x00k\x00\x00\x00",
		"half a letter":          "\xfe\xff\x00k\x00",
		"lone surrogate":         "\xfe\xff\xd8\x00\x00k",
		"content after dashes":   "kind: A\n--- {kind: B}\n",
		"end marker, no dashes":  "kind: A\n...\nkind: B\n",
		"carriage returns":       "kind: A\r---\rkind: B\r",
		"next line":              "kind: A\u0085---\u0085kind: B\u0085",
		"no dashes between":      "apiVersion: v1\nkind: A\napiVersion: v1\nkind: B\n",
		"json, then a bracket":   `{"kind":"A"} ] {"kind":"B"}`,
		"json, then half of one": `{"kind":"A"} {"kind":"B"`,
		"a list":                 "- kind: A\n",
		"a text":                 "kind\n",
		"no kind":                "replicas: 3\n",
		"alias of another one":   "kind: A\na: &a 1\n---\nkind: B\na: *a\n",
	} {
		objects := &Objects{limit: 1000}
		err := objects.AddManifest("x.yaml", []byte(text))
		if err == nil {
			t.Errorf("%s: read as %q", name, objects.body.String())
		} else if !strings.Contains(err.Error(), "x.yaml") {
			t.Errorf("%s: %s", name, err)
		}
	}
}

func TestWhatHoldsNoObjectIsEmpty(t *testing.T) {
	for _, text := range []string{"", "\n", "# c\n", "---\n---\n# c\n...\n", "null\n", "\ufeff", "kind: ConfigMapList\nitems: null\n"} {
		objects := &Objects{limit: 1000}
		if err := objects.AddManifest("x.yaml", []byte(text)); err != nil || objects.body.Len() > 0 {
			t.Errorf("%q: %v %q", text, err, objects.body.String())
		}
	}
}
