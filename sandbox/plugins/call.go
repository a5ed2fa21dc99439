package main

import (
	"context"
	"errors"
	"io"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"plumbline.dev/plugins/pluginapi"
)

const (
	chunkBytes = 64 << 10
	// messageBytes of an error are passed on: a plugin writes its whole standard error into it.
	messageBytes = 4 << 10
)

func ask(ctx context.Context, request Request, archive io.Reader) (Answer, []string) {
	answer, manifests, err := call(ctx, request, archive)
	if err != nil {
		return Answer{Error: callError(err)}, nil
	}
	return answer, manifests
}

func call(ctx context.Context, request Request, archive io.Reader) (Answer, []string, error) {
	connection, err := connect(request)
	if err != nil {
		return Answer{}, nil, err
	}
	defer connection.Close()
	client := pluginapi.NewConfigManagementPluginServiceClient(connection)
	switch request.Call {
	case "check":
		found, err := client.CheckPluginConfiguration(ctx, &emptypb.Empty{})
		return Answer{Discovers: found.GetIsDiscoveryConfigured(), GitLogin: found.GetProvideGitCreds()}, nil, err
	case "match":
		stream, err := client.MatchRepository(ctx)
		found, err := exchange(stream, err, request, archive)
		return Answer{Supported: found.GetIsSupported(), Discovers: found.GetIsDiscoveryEnabled()}, nil, err
	case "generate":
		stream, err := client.GenerateManifest(ctx)
		found, err := exchange(stream, err, request, archive)
		return Answer{}, found.GetManifests(), err
	case "announce":
		stream, err := client.GetParametersAnnouncement(ctx)
		found, err := exchange(stream, err, request, archive)
		return Answer{Parameters: announcements(found)}, nil, err
	}
	return Answer{}, nil, status.Errorf(codes.InvalidArgument, "%q is no call", request.Call)
}

// connect never leaves this machine: the socket is dialled as it is, without a resolver or a proxy.
func connect(request Request) (*grpc.ClientConn, error) {
	dial := func(ctx context.Context, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", request.Socket)
	}
	return grpc.NewClient(
		"passthrough:///localhost",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(dial),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(request.AnswerBytes)),
		grpc.WithMaxHeaderListSize(256<<10),
	)
}

func exchange[T any](
	stream grpc.ClientStreamingClient[pluginapi.AppStreamRequest, T], err error, request Request, archive io.Reader,
) (*T, error) {
	if err != nil {
		return nil, err
	}
	err = send(stream.Send, request, archive)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return stream.CloseAndRecv() // after io.EOF it has the reason why the plugin took no more
}

func send(send func(*pluginapi.AppStreamRequest) error, request Request, archive io.Reader) error {
	if err := send(metadata(request)); err != nil {
		return err
	}
	chunk := make([]byte, chunkBytes)
	for {
		count, err := archive.Read(chunk)
		if count > 0 {
			file := &pluginapi.AppStreamRequest_File{File: &pluginapi.File{Chunk: chunk[:count]}}
			if err := send(&pluginapi.AppStreamRequest{Request: file}); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return status.Errorf(codes.Internal, "the archive cannot be read: %s", err)
		}
	}
}

func metadata(request Request) *pluginapi.AppStreamRequest {
	env := make([]*pluginapi.EnvEntry, 0, len(request.Env))
	for _, one := range request.Env {
		env = append(env, &pluginapi.EnvEntry{Name: one.Name, Value: one.Value})
	}
	return &pluginapi.AppStreamRequest{Request: &pluginapi.AppStreamRequest_Metadata{
		Metadata: &pluginapi.ManifestRequestMetadata{
			AppName: request.Name, AppRelPath: request.Path, Checksum: request.Checksum, Size: request.Size, Env: env,
		},
	}}
}

func announcements(found *pluginapi.ParametersAnnouncementResponse) []Announcement {
	var all []Announcement
	for _, one := range found.GetParameterAnnouncements() {
		all = append(all, Announcement{
			Name: one.GetName(), Title: one.GetTitle(), Tooltip: one.GetTooltip(), Required: one.GetRequired(),
			ItemType: one.GetItemType(), CollectionType: one.GetCollectionType(),
			String: one.GetString_(), Array: one.GetArray(), Map: one.GetMap(),
		})
	}
	return all
}

func callError(err error) *CallError {
	found := status.Convert(err)
	message := found.Message()
	if len(message) > messageBytes {
		message = message[:messageBytes]
	}
	return &CallError{Code: found.Code().String(), Message: message}
}
