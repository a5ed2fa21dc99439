package lua

import (
	"strings"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// openSafeOS is the part of Lua's os that only tells the time.
func openSafeOS(state *lua.LState) int {
	module := state.RegisterModule(lua.OsLibName, map[string]lua.LGFunction{"time": timeOf, "date": date})
	state.Push(module)
	return 1
}

// timeOf: seconds since 1970, of now or of a table with year, month, day and so on (UTC).
func timeOf(state *lua.LState) int {
	instant := time.Now()
	if table, present := state.Get(1).(*lua.LTable); present {
		field := func(name string, otherwise int) int {
			if number, ok := table.RawGetString(name).(lua.LNumber); ok {
				return int(number)
			}
			return otherwise
		}
		instant = time.Date(field("year", 1970), time.Month(field("month", 1)), field("day", 1),
			field("hour", 12), field("min", 0), field("sec", 0), 0, time.UTC)
	}
	state.Push(lua.LNumber(instant.Unix()))
	return 1
}

var dateCodes = map[byte]string{
	'a': "Mon", 'A': "Monday", 'b': "Jan", 'B': "January", 'c': time.ANSIC, 'd': "02", 'F': "2006-01-02",
	'H': "15", 'I': "03", 'm': "01", 'M': "04", 'p': "PM", 'S': "05", 'T': "15:04:05", 'x': "01/02/06",
	'X': "15:04:05", 'y': "06", 'Y': "2006", 'z': "-0700", 'Z': "MST",
}

// date formats a moment with strftime codes; "*t" gives a table. Every time is UTC.
func date(state *lua.LState) int {
	format := strings.TrimPrefix(state.OptString(1, "%c"), "!")
	instant := time.Now().UTC()
	if seconds, present := state.Get(2).(lua.LNumber); present {
		instant = time.Unix(int64(seconds), 0).UTC()
	}
	if strings.HasPrefix(format, "*t") {
		state.Push(dateTable(state, instant))
		return 1
	}
	var text strings.Builder
	for at := 0; at < len(format); at++ {
		layout, known := "", false
		if format[at] == '%' && at+1 < len(format) {
			layout, known = dateCodes[format[at+1]]
		}
		if known {
			text.WriteString(instant.Format(layout))
			at++
		} else {
			text.WriteByte(format[at])
		}
	}
	state.Push(lua.LString(text.String()))
	return 1
}

func dateTable(state *lua.LState, instant time.Time) *lua.LTable {
	table := state.NewTable()
	for name, value := range map[string]int{
		"year": instant.Year(), "month": int(instant.Month()), "day": instant.Day(), "hour": instant.Hour(),
		"min": instant.Minute(), "sec": instant.Second(), "wday": int(instant.Weekday()) + 1, "yday": instant.YearDay(),
	} {
		table.RawSetString(name, lua.LNumber(value))
	}
	table.RawSetString("isdst", lua.LFalse)
	return table
}
