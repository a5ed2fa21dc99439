package wire

// Reason says why a request failed. The list is mirrored by sandbox/client/errors.py; a test compares them.
type Reason string

const (
	YamlInvalid       Reason = "YamlInvalid"
	TemplateFailed    Reason = "TemplateFailed"
	ValuesInvalid     Reason = "ValuesInvalid"
	ChartInvalid      Reason = "ChartInvalid"
	MissingDependency Reason = "MissingDependency"
	KustomizeFailed   Reason = "KustomizeFailed"
	RemoteBase        Reason = "RemoteBase"
	RemoteFile        Reason = "RemoteFile"
	OutsideRepository Reason = "OutsideRepository"
	PathNotFound      Reason = "PathNotFound"
	FileNotFound      Reason = "FileNotFound"
	JsonnetFailed     Reason = "JsonnetFailed"
	LuaFailed         Reason = "LuaFailed"
	JqFailed          Reason = "JqFailed"
	RegoFailed        Reason = "RegoFailed"
	SemverInvalid     Reason = "SemverInvalid"
	GlobInvalid       Reason = "GlobInvalid"
	InputTooLarge     Reason = "InputTooLarge"
	OutputTooLarge    Reason = "OutputTooLarge"
	MemoryExceeded    Reason = "MemoryExceeded"
	DeadlineExceeded  Reason = "DeadlineExceeded"
	WorkerDied        Reason = "WorkerDied"
	WorkerFailed      Reason = "WorkerFailed"
	RequestInvalid    Reason = "RequestInvalid"
)
