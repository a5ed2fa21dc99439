package helm

import (
	"bytes"
	"strings"

	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/strvals"

	"plumbline.dev/sandbox/worker/internal/repository"
	"plumbline.dev/sandbox/worker/internal/wire"
)

// valuesOf merges what the Application gives, weakest first: value files in their order, then the inline
// values (the object wins over the text), then parameters, then forced strings, then file parameters.
func valuesOf(files *repository.Files, root string, params Params) (map[string]any, error) {
	values := map[string]any{}
	located, err := locateAll(files, root, params)
	if err != nil {
		return nil, err
	}
	for _, one := range located {
		written := one.written
		content, err := one.files.Read(one.name)
		if repository.IsMissing(err) && params.IgnoreMissingValueFiles {
			continue
		}
		if err != nil {
			return nil, err
		}
		if values, err = mergeValues(values, written, content); err != nil {
			return nil, err
		}
	}
	if len(params.ValuesObject) > 0 {
		values = loader.MergeMaps(values, params.ValuesObject)
	} else if params.Values != "" {
		var err error
		if values, err = mergeValues(values, "values", []byte(params.Values)); err != nil {
			return nil, err
		}
	}
	return values, setParameters(files, root, values, params)
}

func mergeValues(values map[string]any, name string, content []byte) (map[string]any, error) {
	added, err := loader.LoadValues(bytes.NewReader(content))
	if err != nil {
		return nil, &wire.Failure{Reason: wire.ValuesInvalid, File: name, Line: wire.LineOf(err.Error()), Message: wire.Clip(name + ": " + err.Error())}
	}
	return loader.MergeMaps(values, added), nil
}

func setParameters(files *repository.Files, root string, values map[string]any, params Params) error {
	for _, forced := range []bool{false, true} {
		for _, parameter := range params.Parameters {
			if parameter.ForceString != forced {
				continue
			}
			if err := setParameter(values, parameter); err != nil {
				return wire.NewFailure(wire.ValuesInvalid, "parameter %s: %s", parameter.Name, err)
			}
		}
	}
	for _, parameter := range params.FileParameters {
		read := func(name []rune) (any, error) {
			found, err := locate(files, root, string(name), params.Refs)
			if err != nil {
				return "", err
			}
			content, err := found.files.Read(found.name)
			return string(content), err
		}
		if err := strvals.ParseIntoFile(parameter.Name+"="+escapeCommas(parameter.Path), values, read); err != nil {
			return wire.AsFailure(err, wire.ValuesInvalid)
		}
	}
	return nil
}

func setParameter(values map[string]any, parameter Parameter) error {
	text := parameter.Name + "=" + escapeCommas(parameter.Value)
	if parameter.ForceString {
		return strvals.ParseIntoString(text, values)
	}
	return strvals.ParseInto(text, values)
}

// escapeCommas keeps a comma inside one value, as Argo CD does: a {list} keeps its commas, and one that is
// already escaped is left alone.
func escapeCommas(value string) string {
	if strings.HasPrefix(value, "{") && strings.HasSuffix(value, "}") {
		return value
	}
	var escaped strings.Builder
	previous := rune(0)
	for _, char := range value {
		if char == ',' && previous != '\\' {
			escaped.WriteByte('\\')
		}
		escaped.WriteRune(char)
		previous = char
	}
	return escaped.String()
}
