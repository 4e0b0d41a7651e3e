#!/bin/sh
# Installs the build tree, moves the installation elsewhere and works from there: nothing in it may know where it was
# built, where its sources lie or where it was installed first.
#   installed.sh CMAKE BUILD SOURCE WORK
set -eu
cmake=$1 build=$2 source=$3 work=$4
rm -rf "$work"
mkdir -p "$work/there" "$work/desk"
"$cmake" --install "$build" --prefix "$work/here" >"$work/install.log"
mv "$work/here" "$work/there/moved prefix"
prefix="$work/there/moved prefix"
names="$source/tests/e2e/names_folder.py"
mkdir "$work/probe"
printf '/opt%s/tests %s.old ./x%s %s/no-such-entry' "$source" "$source" "$source" "$source" >"$work/probe/others"
python3 "$names" "$work/probe" "$source"
printf 'text\0%s/tests/e2e\0' "$source" >"$work/probe/ours"
if python3 "$names" "$work/probe" "$source" >/dev/null; then echo "$names finds nothing" >&2; exit 1; fi
if ! python3 "$names" "$prefix" "$source" "$build" "$work/here"; then
  echo "the files above name a folder that the installation must not need" >&2
  exit 1
fi
cp -r "$source/tests/e2e/host_api" "$source/tests/e2e/sdk_layout" "$source/tests/e2e/static_graphs" "$source/tests/sim" "$work/desk"
cd "$work/desk"
run() { env -i "PATH=$prefix/bin:/usr/bin:/bin" "$@"; }

run cs-compile sim/chain_layout.csl --params=P:4,B:8,buffered:false -m wse3 -o chain.csp
run cs-sim chain.csp --launch run --report report >/dev/null
run cs-objdump chain.csp --tile 0,0 >/dev/null
run cslc sim/message_layout.csl --arch=wse2 --fabric-dims=20,4 --fabric-offsets=4,1 --params=hops:3,B:8 -o message --memcpy
run cs_python host_api/run.py wse2
run cs_python sdk_layout/run.py --arch=wse3
run cs_python static_graphs/run_snippet.py retrace

# A project of somebody's, built against what was installed; by pkg-config too, and with nothing else installed beside it.
"$cmake" -S "$source/tests/installed" -B consumer -G Ninja -DCMAKE_BUILD_TYPE=Release "-DCMAKE_PREFIX_PATH=$prefix" >consumer.log
"$cmake" --build consumer >>consumer.log
net="$source/models/mnist_mlp"
consumer/consumer "$net/model.onnx" "$net/inputs_0.npz" "$net/expected_0.npz" sim/chain_layout.csl
# Models around an installed wafer: a bench that holds wavelets up, a DMA engine over TLM, wafers joined at an edge.
"$cmake" -S "$source/tests/installed/systemc" -B models -G Ninja -DCMAKE_BUILD_TYPE=Release "-DCMAKE_PREFIX_PATH=$prefix" >models.log
"$cmake" --build models >>models.log
cp "$source"/tests/installed/systemc/chain_* .
chain() { run cs-compile chain_layout.csl --host chain_streams.yaml --params=width:8 -q "$@"; }
chain -m wse2 -o chain_wse2.csp
chain -m wse3 --set machine.clock_mhz=1100 -o chain_wse3.csp
run cs-compile sim/chain_layout.csl --params=P:4,B:8,buffered:false -m wse2 -q -o sum.csp
models/bench chain_wse2.csp 0
models/bench chain_wse3.csp 50
models/dma sum.csp
models/two_wafers chain_wse2.csp chain_wse3.csp

pc=$(find "$prefix" -name wafersmith.pc -printf %h)
flags=$(PKG_CONFIG_PATH="$pc" pkg-config --cflags --libs wafersmith)
eval "c++ -std=c++20 -O1 '$source/tests/installed/main.cpp' -o by_pkg_config $flags"
./by_pkg_config "$net/model.onnx" "$net/inputs_0.npz" "$net/expected_0.npz" sim/chain_layout.csl
