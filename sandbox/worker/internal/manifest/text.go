package manifest

import (
	"bytes"
	"encoding/binary"
	"unicode/utf16"

	"plumbline.dev/sandbox/worker/internal/wire"
)

var utf8Mark = []byte("\xef\xbb\xbf")

// PlainText gives the text of a file as UTF-8 without a mark. YAML and JSON may also be written in UTF-16 of
// either order, with or without a mark (YAML 1.2, section 5.2); what is neither is refused, because a parser
// that takes its bytes for UTF-8 sees fewer documents than there are, and objects that are not seen are pruned.
func PlainText(file string, content []byte) ([]byte, error) {
	order, marked := utf16Order(content)
	if order == nil {
		return bytes.TrimPrefix(content, utf8Mark), nil
	}
	if marked {
		content = content[2:]
	}
	text, ok := fromUTF16(content, order)
	if !ok {
		return nil, &wire.Failure{Reason: wire.YamlInvalid, File: file,
			Message: file + ": the file is neither UTF-8 nor UTF-16; write it in UTF-8"}
	}
	return text, nil
}

// utf16Order tells the byte order of a text in UTF-16 by its mark, or by a first character that is ASCII.
// A text in UTF-32 looks like UTF-16 with a NUL in it, which fromUTF16 refuses.
func utf16Order(content []byte) (order binary.ByteOrder, marked bool) {
	if len(content) < 2 {
		return nil, false
	}
	switch first, second := content[0], content[1]; {
	case first == 0xfe && second == 0xff:
		return binary.BigEndian, true
	case first == 0xff && second == 0xfe:
		return binary.LittleEndian, true
	case first == 0:
		return binary.BigEndian, false
	case second == 0:
		return binary.LittleEndian, false
	}
	return nil, false
}

func fromUTF16(content []byte, order binary.ByteOrder) ([]byte, bool) {
	if len(content)%2 != 0 {
		return nil, false
	}
	units := make([]uint16, 0, len(content)/2)
	for at := 0; at < len(content); at += 2 {
		units = append(units, order.Uint16(content[at:]))
	}
	runes := utf16.Decode(units)
	for _, letter := range runes {
		if letter == 0 || letter == '\ufffd' { // a lone surrogate decodes to it
			return nil, false
		}
	}
	return []byte(string(runes)), true
}
