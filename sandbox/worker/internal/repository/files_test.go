package repository

import (
	"testing"
)

func TestPathsResolveInsideTheRepository(t *testing.T) {
	for written, expected := range map[string]string{
		"x": "a/b/x", "../x": "a/x", "/x/y": "x/y", "../..": "", "./x/../y": "a/b/y",
	} {
		if seen, err := Resolve("a/b", written); err != nil || seen != expected {
			t.Errorf("%s: %q %v", written, seen, err)
		}
	}
	for _, written := range []string{"../../..", "/../x", "../../../etc"} {
		if _, err := Resolve("a/b", written); err == nil {
			t.Errorf("%s was let out", written)
		}
	}
}
