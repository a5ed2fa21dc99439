package helm

import (
	"testing"
)

func TestCommasOfParametersAreEscapedOnce(t *testing.T) {
	for text, expected := range map[string]string{`a,b`: `a\,b`, `a\,b`: `a\,b`, `{a,b}`: `{a,b}`, ``: ``} {
		if seen := escapeCommas(text); seen != expected {
			t.Errorf("%s: %s", text, seen)
		}
	}
}
