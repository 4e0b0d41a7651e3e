// Keys of the zoo's conventions without effect on the forward graph. Sources: the schema of `runconfig` and
// the configurations of the zoo's releases 1.6 to 2.10.
#include "compiler/frontend/model_config_keys.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "compiler/frontend/loss_config.h"
#include "compiler/frontend/optimizer_config.h"

namespace cs::frontend {

namespace {

// Whole sections end with a point.
constexpr const char* kKeys[] = {"csconfig.",
                                 "trainer.init.backend.",
                                 "trainer.init.callbacks.",
                                 "trainer.init.checkpoint.",
                                 "trainer.init.device",
                                 "trainer.init.logging.",
                                 "trainer.init.loggers.",
                                 "trainer.init.loop.",
                                 "trainer.init.model_dir",
                                 "trainer.init.precision.log_loss_scale",
                                 "trainer.init.precision.precision_opt_level",
                                 "trainer.init.precision.optimizer_level",
                                 "trainer.init.schedulers.",
                                 "trainer.init.sparsity.",
                                 "trainer.fit.ckpt_path",
                                 "trainer.fit.val_dataloader.",
                                 "trainer.validate.ckpt_path",
                                 "trainer.validate_all.",
                                 "description",
                                 "tag",
                                 "train_input.data_processor",
                                 "train_input.data_dir",
                                 "train_input.batch_size",
                                 "train_input.micro_batch_size",
                                 "train_input.shuffle",
                                 "train_input.shuffle_seed",
                                 "train_input.num_workers",
                                 "train_input.prefetch_factor",
                                 "train_input.persistent_workers",
                                 "train_input.drop_last",
                                 "train_input.num_samples",
                                 "train_input.vocab_file",
                                 "train_input.vocab_size",
                                 "train_input.mixed_precision",
                                 "train_input.to_float16",
                                 "train_input.use_bfloat16",
                                 "train_input.num_classes",
                                 "train_input.dynamic_loss_weight",
                                 "train_input.do_lower",
                                 "train_input.add_special_tokens",
                                 "train_input.src_vocab_file",
                                 "train_input.tgt_vocab_file",
                                 "train_input.max_predictions_per_seq",
                                 "train_input.short_seq_prob",
                                 "train_input.mask_whole_word",
                                 "train_input.disable_nsp",
                                 "train_input.aggregate_cartilage",
                                 "train_input.augment_data.",
                                 "train_input.buckets",
                                 "train_input.class_id",
                                 "train_input.data_file",
                                 "train_input.data_transforms.",
                                 "train_input.dataset.",
                                 "train_input.dataset_map_fn",
                                 "train_input.data_subset",
                                 "train_input.drop_last_batch",
                                 "train_input.dupe_factor",
                                 "train_input.dynamic_mlm_scale",
                                 "train_input.echo_type",
                                 "train_input.extra_ids",
                                 "train_input.fp16_type",
                                 "train_input.gather_mlm_labels",
                                 "train_input.image_channels",
                                 "train_input.image_data_size",
                                 "train_input.image_size",
                                 "train_input.img_data_dir",
                                 "train_input.is_training",
                                 "train_input.label_vocab_file",
                                 "train_input.masked_lm_prob",
                                 "train_input.max_cls_tokens",
                                 "train_input.mixture.",
                                 "train_input.n_parallel_reads",
                                 "train_input.noaug",
                                 "train_input.normalize_data_method",
                                 "train_input.num_diffusion_steps",
                                 "train_input.num_parallel_calls",
                                 "train_input.preprocessing.",
                                 "train_input.repeat",
                                 "train_input.root",
                                 "train_input.sampler",
                                 "train_input.scale_mlm_weights",
                                 "train_input.seed",
                                 "train_input.seq_length",
                                 "train_input.shuffle_buffer",
                                 "train_input.shuffle_buffer_size",
                                 "train_input.sort_files",
                                 "train_input.split",
                                 "train_input.src_data_dir",
                                 "train_input.ssl_transform",
                                 "train_input.steps",
                                 "train_input.tgt_data_dir",
                                 "train_input.train_test_split",
                                 "train_input.transforms.",
                                 "train_input.use_fast_dataloader",
                                 "train_input.use_multiple_workers",
                                 "train_input.use_vsl",
                                 "train_input.use_worker_cache",
                                 "train_input.whole_word_masking",
                                 "model.dropout_rate",
                                 "model.dropout",
                                 "model.attention_dropout_rate",
                                 "model.embedding_dropout_rate",
                                 "model.residual_dropout_rate",
                                 "model.boundary_casting",
                                 "model.tf_summary",
                                 "model.to_float16",
                                 "model.loss_scaling",
                                 "model.loss_weight",
                                 "model.initializer.",
                                 "model.initializer",
                                 "model.embedding_initializer.",
                                 "model.embedding_initializer",
                                 "model.output_layer_initializer.",
                                 "model.output_layer_initializer",
                                 "model.initializer_range",
                                 "model.attention_softmax_fp32",
                                 "model.lm_loss_weight",
                                 "model.mlm_loss_weight",
                                 "model.mlm_loss_scaling",
                                 "model.label_smoothing",
                                 "model.dropout_seed",
                                 "model.cls_dropout_rate",
                                 "model.label_dropout_rate",
                                 "model.relu_dropout_rate",
                                 "model.encoder_output_dropout_rate",
                                 "model.token_dropout",
                                 "model.task_dropout",
                                 "model.compute_eval_metrics",
                                 "model.eval_metrics",
                                 "model.allow_multireplica",
                                 "model.precision_opt_level",
                                 "model.enable_gpu_optimizations",
                                 "model.weight_initialization_seed",
                                 "model.bias_initializer",
                                 "model.bias_initializer.",
                                 "model.future_implementations",
                                 "model.include_padding_in_loss",
                                 "model.extra_ids",
                                 "model.enable_vts",
                                 "model.scale_attn_by_inverse_layer_idx"};

// Of data loading, but the forward graph has shapes from them.
constexpr const char* kShapeKeys[] = {"train_input.max_sequence_length",
                                      "train_input.src_max_sequence_length",
                                      "train_input.tgt_max_sequence_length", "train_input.image_shape"};

constexpr const char* kRunKeys[] = {"act_memory_gi",
                                    "autogen_on_failure",
                                    "autogen_policy",
                                    "autoload_last_checkpoint",
                                    "batch_copies",
                                    "check_loss_values",
                                    "checkpoint_path",
                                    "checkpoint_steps",
                                    "cmd_memory_gi",
                                    "compile_crd_memory_gi",
                                    "compile_dir",
                                    "compile_only",
                                    "credentials_path",
                                    "cs_ip",
                                    "debug_args_path",
                                    "disable_strict_checkpoint_loading",
                                    "disable_version_check",
                                    "dist_addr",
                                    "dist_backend",
                                    "drop_data",
                                    "dump_activations",
                                    "enable_distributed",
                                    "enable_gpu_optimizations",
                                    "enable_summaries",
                                    "eval_frequency",
                                    "eval_steps",
                                    "execute_crd_memory_gi",
                                    "execution_strategy",
                                    "experimental_api",
                                    "init_method",
                                    "is_pretrained_checkpoint",
                                    "job_labels",
                                    "job_time_sec",
                                    "keep_checkpoint_max",
                                    "load_checkpoint_states",
                                    "log_initialization",
                                    "log_input_summaries",
                                    "log_step_count_steps",
                                    "log_steps",
                                    "logging",
                                    "main_process_id",
                                    "max_checkpoints",
                                    "max_steps",
                                    "mgmt_address",
                                    "mgmt_namespace",
                                    "mode",
                                    "model_dir",
                                    "mount_dirs",
                                    "multireplica",
                                    "num_act_servers",
                                    "num_csx",
                                    "num_epochs",
                                    "num_replicas",
                                    "num_steps",
                                    "num_wgt_servers",
                                    "num_workers_per_csx",
                                    "precision_opt_level",
                                    "python_paths",
                                    "retrace_every_iteration",
                                    "save_checkpoint_steps",
                                    "save_checkpoints_steps",
                                    "save_initial_checkpoint",
                                    "save_losses",
                                    "save_stream_size",
                                    "save_summary_steps",
                                    "seed",
                                    "service_dir",
                                    "show_debug_metrics",
                                    "skip_train_recv_activations",
                                    "steps_per_epoch",
                                    "summary_dir",
                                    "sync_batchnorm",
                                    "target_device",
                                    "tf_random_seed",
                                    "throttle_secs",
                                    "transfer_processes",
                                    "use_appliance_data",
                                    "use_cs_grad_accum",
                                    "use_cstorch_optimizer_step",
                                    "validate_only",
                                    "wgt_memory_gi",
                                    "wrk_memory_gi"};

template <size_t N>
bool one_of(const char* const (&list)[N], const std::string& key) {
  return std::any_of(std::begin(list), std::end(list), [&](std::string_view known) {
    return key == known || (known.back() == '.' && (key + ".").starts_with(known));
  });
}

}  // namespace

bool is_key_without_effect(const std::string& key) {
  constexpr std::string_view kRun = "runconfig.", kOptimizer = "optimizer.";
  if (key.starts_with(kRun)) return one_of(kRunKeys, key.substr(kRun.size()));
  if (key.starts_with(kOptimizer)) return true;  // read_optimizer() complains of what it does not know
  if (is_loss_key(key)) return true;             // and so do those that read losses
  // Data of evaluation has the keys of data of training.
  for (const std::string_view section : {"eval_input", "predict_input"}) {
    if (key == section) return true;
    const std::string same = "train_input" + key.substr(std::min(section.size(), key.size()));
    if (key.starts_with(std::string(section) + ".") && (one_of(kKeys, same) || one_of(kShapeKeys, same)))
      return true;
  }
  return one_of(kKeys, key);
}

std::vector<std::string> keys_without_effect() {
  std::vector<std::string> all(std::begin(kKeys), std::end(kKeys));
  for (const char* k : kRunKeys) all.push_back(std::string("runconfig.") + k);
  return all;
}

}  // namespace cs::frontend
