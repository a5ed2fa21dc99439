package main

import (
	"strings"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// openSafeOS is the part of Lua's os that only tells the time.
func openSafeOS(state *lua.LState) int {
	module := state.RegisterModule(lua.OsLibName, map[string]lua.LGFunction{"time": luaTime, "date": luaDate})
	state.Push(module)
	return 1
}

// luaTime: seconds since 1970, of now or of a table with year, month, day and so on (UTC).
func luaTime(state *lua.LState) int {
	moment := time.Now()
	if table, given := state.Get(1).(*lua.LTable); given {
		field := func(name string, otherwise int) int {
			if number, ok := table.RawGetString(name).(lua.LNumber); ok {
				return int(number)
			}
			return otherwise
		}
		moment = time.Date(field("year", 1970), time.Month(field("month", 1)), field("day", 1),
			field("hour", 12), field("min", 0), field("sec", 0), 0, time.UTC)
	}
	state.Push(lua.LNumber(moment.Unix()))
	return 1
}

var luaDateCodes = map[byte]string{
	'a': "Mon", 'A': "Monday", 'b': "Jan", 'B': "January", 'c': time.ANSIC, 'd': "02", 'F': "2006-01-02",
	'H': "15", 'I': "03", 'm': "01", 'M': "04", 'p': "PM", 'S': "05", 'T': "15:04:05", 'x': "01/02/06",
	'X': "15:04:05", 'y': "06", 'Y': "2006", 'z': "-0700", 'Z': "MST",
}

// luaDate formats a moment with strftime codes; "*t" gives a table. Every time is UTC.
func luaDate(state *lua.LState) int {
	format := strings.TrimPrefix(state.OptString(1, "%c"), "!")
	moment := time.Now().UTC()
	if seconds, given := state.Get(2).(lua.LNumber); given {
		moment = time.Unix(int64(seconds), 0).UTC()
	}
	if strings.HasPrefix(format, "*t") {
		state.Push(luaDateTable(state, moment))
		return 1
	}
	var text strings.Builder
	for at := 0; at < len(format); at++ {
		layout, known := "", false
		if format[at] == '%' && at+1 < len(format) {
			layout, known = luaDateCodes[format[at+1]]
		}
		if known {
			text.WriteString(moment.Format(layout))
			at++
		} else {
			text.WriteByte(format[at])
		}
	}
	state.Push(lua.LString(text.String()))
	return 1
}

func luaDateTable(state *lua.LState, moment time.Time) *lua.LTable {
	table := state.NewTable()
	for name, value := range map[string]int{
		"year": moment.Year(), "month": int(moment.Month()), "day": moment.Day(), "hour": moment.Hour(),
		"min": moment.Minute(), "sec": moment.Second(), "wday": int(moment.Weekday()) + 1, "yday": moment.YearDay(),
	} {
		table.RawSetString(name, lua.LNumber(value))
	}
	table.RawSetString("isdst", lua.LFalse)
	return table
}
