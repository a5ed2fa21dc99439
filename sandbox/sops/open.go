package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/getsops/sops/v3"
	"github.com/getsops/sops/v3/aes"
)

const (
	prefix = "ENC[AES256_GCM,"
	member = "sops"
)

func isEncrypted(text string) bool {
	return strings.HasPrefix(text, prefix) && strings.HasSuffix(text, "]")
}

// open decrypts each encrypted value of the objects where it stands, and leaves out what SOPS wrote beside them.
func open(request Request, keys *Keys) Answer {
	answer := Answer{}
	for place, object := range request.Objects {
		opened, problem := openObject(object, keys, &answer.Values)
		if problem != nil {
			problem.Object = place
			return Answer{Problem: problem}
		}
		answer.Objects = append(answer.Objects, opened)
	}
	return answer
}

func openObject(object json.RawMessage, keys *Keys, values *[]string) (any, *Problem) {
	tree, problem := loadObject(object)
	if problem != nil {
		return nil, problem
	}
	key, problem := keys.dataKey(&tree.Metadata)
	if problem != nil {
		return nil, problem
	}
	var manifest map[string]any
	decoder := json.NewDecoder(bytes.NewReader(object))
	decoder.UseNumber() // a number stays as it was written
	if err := decoder.Decode(&manifest); err != nil {
		return nil, &Problem{Code: "malformed", Message: "it is no object"}
	}
	delete(manifest, member)
	opener := opener{key: key, cipher: aes.NewCipher(), values: values}
	opened, err := opener.open(manifest, "")
	if err != nil {
		return nil, &Problem{Code: "malformed", Message: err.Error()}
	}
	return opened, nil
}

type opener struct {
	key    []byte
	cipher sops.Cipher
	values *[]string
}

func (o opener) open(value any, path string) (any, error) {
	var err error
	switch value := value.(type) {
	case map[string]any:
		for name, item := range value {
			if value[name], err = o.open(item, path+name+":"); err != nil {
				return nil, err
			}
		}
	case []any:
		for place, item := range value {
			if value[place], err = o.open(item, path); err != nil {
				return nil, err
			}
		}
	case string:
		if isEncrypted(value) {
			return o.decrypt(value, path)
		}
	}
	return value, nil
}

func (o opener) decrypt(text, path string) (any, error) {
	plain, err := o.cipher.Decrypt(text, o.key, path)
	if err != nil {
		return nil, fmt.Errorf("the value at %s cannot be decrypted", strings.TrimSuffix(path, ":"))
	}
	switch plain := plain.(type) {
	case []byte:
		return o.note(string(plain)), nil
	case string:
		return o.note(plain), nil
	case time.Time:
		return o.note(plain.Format(time.RFC3339Nano)), nil
	case sops.Comment:
		return nil, fmt.Errorf("the value at %s is a comment", strings.TrimSuffix(path, ":"))
	}
	if _, isBool := plain.(bool); !isBool {
		o.note(fmt.Sprint(plain))
	}
	return plain, nil
}

func (o opener) note(text string) string {
	*o.values = append(*o.values, text)
	return text
}
