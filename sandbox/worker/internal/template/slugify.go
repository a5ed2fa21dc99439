package template

import (
	"regexp"
	"strings"

	"plumbline.dev/sandbox/worker/internal/wire"
)

var notInSlug = regexp.MustCompile(`[^a-z0-9]+`)

const defaultSlug = 50

// slugify makes a name of at most a number of characters, cut at a word where smart truncation is on:
// slugify [maxSize] [smartTruncate] name.
func slugify(arguments ...any) (string, error) {
	size, smart, name := defaultSlug, true, ""
	for _, argument := range arguments {
		switch value := argument.(type) {
		case int:
			size = value
		case bool:
			smart = value
		case string:
			name = value
		default:
			return "", wire.NewFailure(wire.TemplateFailed, "slugify: unexpected argument %v", argument)
		}
	}
	if size < 1 {
		return "", wire.NewFailure(wire.TemplateFailed, "slugify: the size must be positive")
	}
	slug := strings.Trim(notInSlug.ReplaceAllString(strings.ToLower(name), "-"), "-")
	return truncateSlug(slug, size, smart), nil
}

func truncateSlug(slug string, size int, smart bool) string {
	if len(slug) <= size {
		return slug
	}
	if !smart {
		return strings.Trim(slug[:size], "-")
	}
	cut := ""
	for _, word := range strings.Split(slug, "-") {
		longer := strings.TrimPrefix(cut+"-"+word, "-")
		if len(longer) > size {
			break
		}
		cut = longer
	}
	if cut == "" {
		cut = slug[:size]
	}
	return cut
}
