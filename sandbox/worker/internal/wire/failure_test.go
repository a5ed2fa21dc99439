package wire

import (
	"testing"
)

func TestPasswordsOfURLsStayOutOfMessages(t *testing.T) {
	if seen := WithoutPassword("https://user:secret@x.org/a"); seen != "https://x.org/a" {
		t.Error(seen)
	}
}
