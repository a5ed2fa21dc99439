package template

import (
	"testing"
)

func TestSlugsAreCutAtWords(t *testing.T) {
	if seen := truncateSlug("hello-big-world", 10, true); seen != "hello-big" {
		t.Error(seen)
	}
	if seen := truncateSlug("hello", 3, true); seen != "hel" {
		t.Error(seen)
	}
}
