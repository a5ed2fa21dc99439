// Package lua runs scripts of health and of actions, as Argo CD does.
package lua

import (
	"context"
	"encoding/json"
	"time"

	lua "github.com/yuin/gopher-lua"

	"plumbline.dev/sandbox/worker/internal/operation"
	"plumbline.dev/sandbox/worker/internal/wire"
)

// Params of the operation.
type Params struct {
	Script      string                     `json:"script"`
	UseOpenLibs bool                       `json:"useOpenLibs"`
	Globals     map[string]json.RawMessage `json:"globals"` // besides obj; Argo CD's actions use actionParams
}

// deadline is Argo CD's: a script of health or action that needs longer is broken.
const deadline = time.Second

// Evaluate runs a script on the object of the body, the global `obj`, and gives what it returns, as JSON.
// The contract is Argo CD's: base, package and table libraries, a safe os; all others only with open libs,
// and even then neither files nor processes.
func Evaluate(call *operation.Call) (wire.Answer, error) {
	var params Params
	if err := call.DecodeParams(&params); err != nil {
		return wire.Answer{}, err
	}
	state := newState(params.UseOpenLibs)
	defer state.Close()
	brief, cancel := context.WithTimeout(call.Context, deadline)
	defer cancel()
	state.SetContext(brief)
	if err := setGlobals(state, call.Body, params.Globals); err != nil {
		return wire.Answer{}, err
	}
	if err := state.DoString(params.Script); err != nil {
		if brief.Err() != nil {
			return wire.Answer{}, wire.NewFailure(wire.DeadlineExceeded, "the script took longer than %s", deadline)
		}
		return wire.Answer{}, scriptFailure(err)
	}
	encoded, err := json.Marshal(fromLua(state.Get(-1), 0))
	if err != nil {
		return wire.Answer{}, wire.NewFailure(wire.LuaFailed, "the result is not JSON: %s", err)
	}
	return wire.Answer{Body: encoded}, nil
}

func newState(open bool) *lua.LState {
	state := lua.NewState(lua.Options{SkipOpenLibs: true, CallStackSize: 200, RegistryMaxSize: 256 * 1024})
	libraries := []struct {
		name string
		open lua.LGFunction
	}{
		{lua.LoadLibName, lua.OpenPackage},
		{lua.BaseLibName, lua.OpenBase},
		{lua.TabLibName, lua.OpenTable},
		{lua.StringLibName, lua.OpenString},
		{lua.MathLibName, lua.OpenMath},
	}
	if !open {
		libraries = libraries[:3]
	}
	for _, library := range libraries {
		state.Push(state.NewFunction(library.open))
		state.Push(lua.LString(library.name))
		state.Call(1, 0)
	}
	removeFileAccess(state, open)
	return state
}

// removeFileAccess removes the functions that read files or load libraries, and gives the safe os: a global with open libs, else by require.
func removeFileAccess(state *lua.LState, open bool) {
	for _, name := range []string{"dofile", "loadfile", "print", "collectgarbage"} {
		state.SetGlobal(name, lua.LNil)
	}
	state.PreloadModule(lua.OsLibName, openSafeOS)
	if loaders, ok := state.GetField(state.GetGlobal("package"), "loaders").(*lua.LTable); ok {
		loaders.RawSetInt(2, lua.LNil) // the loader that searches files
	}
	if open {
		openSafeOS(state)
		state.SetGlobal(lua.OsLibName, state.Get(-1))
		state.Pop(1)
	}
}

func setGlobals(state *lua.LState, body []byte, globals map[string]json.RawMessage) error {
	if len(body) > 0 {
		if err := setGlobal(state, "obj", body); err != nil {
			return err
		}
	}
	for name, value := range globals {
		if err := setGlobal(state, name, value); err != nil {
			return err
		}
	}
	return nil
}

func setGlobal(state *lua.LState, name string, encoded []byte) error {
	var value any
	if err := json.Unmarshal(encoded, &value); err != nil {
		return wire.NewFailure(wire.RequestInvalid, "%s is not JSON: %s", name, err)
	}
	state.SetGlobal(name, toLua(state, value))
	return nil
}

func scriptFailure(err error) *wire.Failure {
	message := err.Error()
	if trouble, ok := err.(*lua.ApiError); ok {
		message = trouble.Object.String()
		if message == "nil" || message == "" {
			message = trouble.Error()
		}
	}
	return wire.NewFailure(wire.LuaFailed, "%s", message)
}
