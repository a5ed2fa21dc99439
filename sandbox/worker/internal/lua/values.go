package lua

import (
	"fmt"
	"math"
	"strconv"

	lua "github.com/yuin/gopher-lua"
)

// toLua: null becomes nil, so a null field is an absent one.
func toLua(state *lua.LState, value any) lua.LValue {
	switch v := value.(type) {
	case bool:
		return lua.LBool(v)
	case float64:
		return lua.LNumber(v)
	case string:
		return lua.LString(v)
	case []any:
		table := state.CreateTable(len(v), 0)
		for _, item := range v {
			table.Append(toLua(state, item))
		}
		return table
	case map[string]any:
		table := state.CreateTable(0, len(v))
		for key, item := range v {
			table.RawSetString(key, toLua(state, item))
		}
		return table
	}
	return lua.LNil
}

const maxDepth = 200 // a table that contains itself must not take the worker down

// fromLua: a table with items counts as a list, an empty one too; anything that is not data becomes its name.
func fromLua(value lua.LValue, depth int) any {
	switch v := value.(type) {
	case lua.LBool:
		return bool(v)
	case lua.LNumber:
		return numberOf(float64(v))
	case lua.LString:
		return string(v)
	case *lua.LTable:
		if depth > maxDepth {
			return nil
		}
		return fromTable(v, depth+1)
	case *lua.LNilType:
		return nil
	}
	return fmt.Sprint(value)
}

func fromTable(table *lua.LTable, depth int) any {
	list := []any{}
	for index := 1; index <= table.MaxN(); index++ {
		list = append(list, fromLua(table.RawGetInt(index), depth))
	}
	object := map[string]any{}
	table.ForEach(func(key, item lua.LValue) {
		if _, numbered := key.(lua.LNumber); !numbered || len(list) == 0 {
			object[key.String()] = fromLua(item, depth)
		}
	})
	if len(object) == 0 {
		return list
	}
	for index, item := range list {
		object[strconv.Itoa(index+1)] = item
	}
	return object
}

func numberOf(number float64) any {
	if number == math.Trunc(number) && math.Abs(number) < 1<<53 {
		return int64(number)
	}
	if math.IsInf(number, 0) || math.IsNaN(number) {
		return nil
	}
	return number
}
