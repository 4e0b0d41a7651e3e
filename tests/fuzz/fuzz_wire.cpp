// Any frames are answered or refused by a device's server. Input: kind, u16 length, payload, and so on.
#include <cstring>

#include "runtime/host/device_server.h"
#include "tests/unit/host/fake_device.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  cs::FakeDevice fake(5);
  cs::Program p;
  p.fabric_width = 4;
  p.fabric_height = 3;
  p.ports = {{"in", true, cs::Port::west, 0, 1}, {"out", false, cs::Port::east, 0, 2}};
  cs::Diag diag;
  fake.load(p, {}, diag);
  cs::DeviceServer server(fake);
  while (size >= 3 && !server.broken()) {
    cs::wire::Frame frame;
    frame.op = cs::wire::Op(data[0] % cs::wire::kOps);
    const size_t n = std::min<size_t>(size - 3, data[1] + 256u * data[2]);
    frame.payload.assign(reinterpret_cast<const char*>(data) + 3, n);
    data += 3 + n;
    size -= 3 + n;
    // A run of the fake device counts single cycles; a bounded one is enough here.
    if (frame.op == cs::wire::Op::run && n >= 8) std::memset(frame.payload.data() + 2, 0, 6);
    const auto reply = server.handle(frame);
    if (reply && reply->op == cs::wire::Op::error) cs::wire::unpack(reply->payload, diag);
    cs::wire::unpack(frame.payload, diag);
  }
  return 0;
}
